// The header in the look of the Lab: the places, Find a tool, undo, redo, sharing, language and theme. It also writes the
// browser's address. On a phone the places are tabs at the bottom, and a menu holds what the line has no room for.

import { linkQuery } from '../core/query.js';
import { _, currentLanguage } from '../core/texts.js';
import { defineComponent } from '../runtime/component.js';
import { findTool } from '../runtime/finding.js';
import { chooseTheme, chosenTheme, mainElement, THEMES } from '../runtime/streamlit.js';
import {
  chooseLanguage,
  followAddress,
  isFramed,
  keepProgress,
  listenForHistory,
  settled,
} from '../runtime/visitor.js';
import { toClipboard } from '../widgets/clipboard.js';
import { makeButton as button, make, onLink, outerLink, setAttribute, setText } from '../widgets/dom.js';
import { stateLink } from '../widgets/download_menu.js';
import { createMenu, iconElement, svgElement } from '../widgets/menu.js';
import { createSaved } from '../widgets/saved.js';
import { createSharing } from '../widgets/sharing.js';

const TITLE = 'Attention Lab';
const LAB = 'lab'; // the place that has the tools
const LOGO = 'M3 19C3 7 11 12 11 3M11 19V3M19 19C19 7 11 12 11 3';
const ICONS = {
  find: 'M7 2.400a4.600 4.600 0 1 0 0 9.200a4.600 4.600 0 1 0 0 -9.200M10.600 10.600L14 14',
  display: 'M1 13L4.5 3L8 13M2.2 9.7h4.6M14.6 10.6a2.2 2.2 0 1 0 -4.4 0a2.2 2.2 0 1 0 4.4 0M14.6 8.2v4.8', // Aa
  more: 'M3 8h.01M8 8h.01M13 8h.01',
};

const logo = () =>
  svgElement(['svg', { viewBox: '0 0 22 22', 'aria-hidden': 'true', class: 'logo' }, ['path', { d: LOGO }]]);

function create(state) {
  const act = type => () => state.send({ type });
  // An undo is sent even if nothing can be undone yet, because Python may not have received the change yet. Python
  // ignores an undo without history.
  const undo = button('undo', _('Undo'), act('undo'));
  const redo = button('redo', _('Redo'), act('redo'));
  const find = make(
    'button.find',
    { onclick: () => findTool() || goTo(state, LAB), 'aria-label': _('Find a tool') },
    iconElement(ICONS.find),
    make('span', { textContent: _('Find a tool') }),
    make('kbd', { textContent: '/' }),
  );
  const themes = () =>
    Object.entries(THEMES).map(([name, text]) => ({
      text: _(text),
      checked: chosenTheme() === name,
      act: () => chooseTheme(name),
    }));
  const large = () => ({
    text: _('Large type, for a class'),
    on: state.data.large,
    act: () => state.send({ type: 'large', on: !state.data.large }),
  });
  const theme = createMenu({
    icon: ICONS.display,
    text: _('Theme and type size'),
    className: 'icon-button',
    entries: () => [...themes(), large()],
  });
  const sharing = createSharing(() => settled(state), toClipboard);
  const share = button('share', _('Share'), sharing.open);
  setAttribute(share, 'aria-haspopup', 'dialog');
  const note = make('span.note.strong', { role: 'status' });
  const copy = async text =>
    setText(note, (await toClipboard(text, sharing.dialog)) ? _('Copied') : _('Not copied: use the address bar'));
  const saved = createSaved(state, copy, () => sharing.close());
  sharing.foot.append(saved.menu.element, saved.form, note);
  const more = createMenu({
    icon: ICONS.more,
    text: _('More'),
    className: 'icon-button',
    entries: () => [
      { text: _('Undo'), act: act('undo'), disabled: !state.data.undo },
      { text: _('Redo'), act: act('redo'), disabled: !state.data.redo },
      { text: _('Share'), act: sharing.open },
      large(),
    ],
  });
  more.element.classList.add('more');
  const lost = make('span.lost.card.fine.notice', { hidden: true, role: 'status' });
  const brand = make('a.brand.flex.nowrap', { dataset: { page: 'start' } });
  brand.append(logo(), make('span', { textContent: TITLE }));
  const places = make('nav.places.flex.nowrap', { 'aria-label': _('Places') });
  const tabs = make('nav.tabs.fine.flex.nowrap', { 'aria-label': _('Places') });
  const languages = make('span.languages');
  const right = make('div.right.flex.muted.nowrap', { role: 'group', 'aria-label': _('State') });
  right.append(lost, find, undo, redo, share, languages, theme.element, more.element);
  const bar = make('div.place.bar.flex', brand, places, right);
  const link = outerLink('', '');
  const line = make('p.line.fine.wrap', { hidden: true }, make('span.muted'), link);
  state.root.append(bar, line, tabs, sharing.dialog);
  for (const nav of [brand, places, tabs]) onLink(nav, ({ dataset }) => goTo(state, dataset.page));
  // The listener is stored on the element and not in this module, so that another version of the library can end it.
  state.root.keys?.abort();
  state.root.keys = new AbortController();
  listenForHistory(state, state.root.keys.signal);
  const showConnection = isThere => {
    lost.hidden = isThere;
    setText(lost, isThere ? '' : _('No connection. Your changes are sent when it returns.'));
  };
  return {
    brand,
    undo,
    redo,
    places,
    tabs,
    languages,
    bar,
    line,
    link,
    menus: [theme, more, saved, sharing],
    showConnection,
  };
}

/** Returns the languages that the visitor can change to, as [key, name] pairs. */
const others = state => state.data.languages.filter(([key]) => key !== currentLanguage());

const requested = state => state.waiting().findLast(({ type }) => type === 'page')?.page;

/** Returns the page that was requested last. */
const shown = state => requested(state) ?? state.data.present;

function goTo(state, page) {
  if (page === shown(state)) return;
  state.send({ type: 'page', page });
  state.refresh();
}

/** Shows the places as links, in the header or as tabs; elements are reused, so that the focus stays. */
function showPlaces(state, nav) {
  const { places, links } = state.data;
  if (nav.children.length !== places.length)
    nav.replaceChildren(...places.map(([page, textContent]) => make('a', { textContent, dataset: { page } })));
  for (const link of nav.children) {
    setAttribute(link, 'href', address(links, link.dataset.page));
    if (link.dataset.page === (requested(state) ?? state.data.section)) setAttribute(link, 'aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
}

/** Returns the link to a page with the current state. */
function address(query, page) {
  const params = new URLSearchParams(query);
  params.delete('page');
  return `?${linkQuery([['page', page], ...params])}`;
}

function showLanguages(state) {
  const languages = others(state);
  if (state.languages.children.length === languages.length) return; // the buttons already exist in this language
  state.languages.replaceChildren(
    ...languages.map(([lang, textContent]) =>
      make('button', { lang, textContent, onclick: () => chooseLanguage(state, lang) }),
    ),
  );
}

function update(state, { undo, redo, places, embedded, large, links }) {
  keepProgress(state);
  // assets/style.css uses larger type for a page with this attribute
  document.documentElement.toggleAttribute('data-large', large);
  for (const part of [state.bar, state.tabs]) part.hidden = Boolean(embedded);
  state.line.hidden = !embedded && !isFramed;
  const warns = !embedded && isFramed;
  setText(state.line.firstChild, warns ? _('In this frame, uploads and downloads may be blocked.') : '');
  setText(state.link, warns ? _('Open in a window ↗') : _('Open this in Attention Lab ↗'));
  setAttribute(state.brand, 'href', address(links, 'start'));
  showPlaces(state, state.places);
  showPlaces(state, state.tabs);
  showLanguages(state);
  // aria-disabled is set instead of `disabled`, because a disabled button would lose the focus
  setAttribute(state.undo, 'aria-disabled', !undo);
  setAttribute(state.redo, 'aria-disabled', !redo);
  if (state.page && state.page !== shown(state)) mainElement()?.scrollTo(0, 0);
  state.page = shown(state);
  const title = places.find(([page]) => page === state.page)?.[1];
  document.title = state.page === LAB || !title ? TITLE : `${title} · ${TITLE}`;
  if (followAddress(state)) setAttribute(state.link, 'href', stateLink());
}

export const bar = defineComponent({
  create,
  update,
  destroy: ({ root, menus }) => {
    for (const menu of menus) menu.close();
    root.keys.abort();
  },
});
