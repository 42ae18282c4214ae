// Undo, redo, reset, copy link, QR code, language, theme, the keyboard shortcuts, and the browser's address. If the app is
// embedded in another page, the toolbar is only a link to the full app.

import { _, currentLanguage } from '../core/texts.js';
import { defineComponent } from '../runtime/component.js';
import { chooseTheme, chosenTheme, THEMES } from '../runtime/streamlit.js';
import {
  chooseLanguage,
  followAddress,
  isFramed,
  keepProgress,
  listenForHistory,
  settled,
} from '../runtime/visitor.js';
import { toClipboard } from '../widgets/clipboard.js';
import { make, setAttribute, setText } from '../widgets/dom.js';
import { stateLink } from '../widgets/download_menu.js';
import { createMenu, iconElement } from '../widgets/menu.js';
import { createSaved } from '../widgets/saved.js';
import { createSharing } from '../widgets/sharing.js';

// Icons as paths in a box of 16 by 16, because fonts contain different arrows.
const ICONS = {
  undo: 'M6 3 2.500 6.500 6 10 M2.500 6.500H9.500a4 4 0 0 1 0 8H7',
  redo: 'M10 3l3.500 3.500L10 10M13.500 6.500H6.500a4 4 0 0 0 0 8H9',
  reset: 'M3 3v4h4M3.300 6.800A5.300 5.300 0 1 1 2.700 9.500',
  theme: 'M8 2.500a5.500 5.500 0 1 0 0 11a5.500 5.500 0 1 0 0 -11M8 2.500v11M10.500 3.200v9.600M12.500 5v6',
  done: 'M3 8.500l3.500 3.500L13 4.500',
  copy: 'M6.500 9.500l3-3M7.500 5l1.800-1.800a2.600 2.600 0 0 1 3.600 3.600L11 8.700M8.500 11l-1.800 1.800a2.600 2.600 0 0 1-3.600-3.600L5 7.300',
};
const COPIED = 2000; // ms for which the confirmation of a copy is displayed

function create(state) {
  const button = (path, name, act) =>
    make(
      'button',
      { type: 'button', onclick: act, attributes: { 'aria-label': name, title: name } },
      iconElement(path),
      make('span', { className: 'text', textContent: name }),
    );
  // The event is sent even if nothing can be undone yet, because Python may not have received the change yet. Python
  // ignores an undo without history.
  const act = type => () => state.send({ type });
  const undo = button(ICONS.undo, _('Undo'), act('undo'));
  const redo = button(ICONS.redo, _('Redo'), act('redo'));
  const reset = button(ICONS.reset, _('Reset'), act('reset'));
  const copy = button(ICONS.copy, _('Copy link'), () => copyLink(state));
  const theme = createMenu({
    icon: ICONS.theme,
    text: _('Theme and type size'),
    className: 'theme',
    entries: () => [
      ...Object.entries(THEMES).map(([name, text]) => ({
        text: _(text),
        checked: chosenTheme() === name,
        act: () => chooseTheme(name),
      })),
      {
        text: _('Large type, for a class'),
        on: state.data.large,
        act: () => state.send({ type: 'large', on: !state.data.large }),
      },
    ],
  });
  const sharing = createSharing(
    () => settled(state),
    (text, place) => toClipboard(text, place),
  );
  const saved = createSaved(state, text => copyText(state, text), sharing);
  const lost = make('span', { className: 'lost', hidden: true, attributes: { role: 'status' } });
  const copyStatus = make('span', { className: 'status', attributes: { role: 'status' } });
  const bar = make(
    'div',
    { className: 'bar', attributes: { role: 'group', 'aria-label': _('State') } },
    undo,
    redo,
    reset,
    make('span', { className: 'copy' }, copy, copyStatus),
    sharing.button,
    saved.menu.element,
    lost,
    make('span', { className: 'languages' }),
    theme.element,
    saved.form,
    sharing.dialog,
  );
  const link = make('a', { target: '_blank', rel: 'noopener' });
  const line = make('p', { className: 'line', hidden: true }, make('span'), link);
  state.root.append(bar, line);
  // The listener is stored on the element and not in this module, so that another version of the library can end it.
  state.root.keys?.abort();
  state.root.keys = new AbortController();
  const { signal } = state.root.keys;
  listenForHistory(state, signal);
  const showConnection = isThere => {
    lost.hidden = isThere;
    setText(lost, isThere ? '' : _('No connection. Your changes are kept and sent when it returns.'));
  };
  return { undo, redo, copy, copyStatus, saved, sharing, theme, bar, line, link, showConnection };
}

/** Returns the first letters of a language's own name, for narrow screens: EN, 中文. */
const shortest = name => name.slice(0, 2).toUpperCase();

/** Shows a button for each other language, labelled with the language's own name. */
function showLanguages(state, languages) {
  const others = languages.filter(([key]) => key !== currentLanguage());
  const place = state.root.querySelector('.languages');
  if (place.children.length === others.length) return; // the buttons already exist in this language
  place.replaceChildren(
    ...others.map(([language, textContent]) =>
      make(
        'button',
        {
          type: 'button',
          lang: language,
          onclick: () => chooseLanguage(state, language),
          attributes: { 'aria-label': textContent, title: textContent },
        },
        make('span', { className: 'whole', textContent }),
        make('span', { className: 'short', textContent: shortest(textContent) }),
      ),
    ),
  );
}

function update(state, { undo, redo, languages, embedded, large }) {
  keepProgress(state);
  // assets/style.css uses larger type for a page with this attribute
  document.documentElement.toggleAttribute('data-large', large);
  state.bar.hidden = Boolean(embedded);
  state.line.hidden = !embedded && !isFramed;
  const warns = !embedded && isFramed;
  setText(state.line.firstChild, warns ? _('In a frame of another site, uploads and downloads may be blocked.') : '');
  setText(state.link, warns ? _('Open in a window of its own ↗') : _('Open this in Attention Lab ↗'));
  showLanguages(state, languages);
  // aria-disabled is set instead of `disabled`, because a disabled button would lose the focus
  setAttribute(state.undo, 'aria-disabled', !undo);
  setAttribute(state.redo, 'aria-disabled', !redo);
  if (followAddress(state)) setAttribute(state.link, 'href', stateLink());
}

async function copyLink(state) {
  await settled(state);
  await copyText(state, location.href);
}

/** Copies a text; confirms it with a check mark in the button and a word below the button, which is also announced. */
async function copyText(state, text) {
  const done = await toClipboard(text);
  setText(state.copyStatus, done ? _('Copied') : _('Not copied: use the address bar'));
  state.copy.parentElement.classList.add('done');
  showIcon(state.copy, done ? ICONS.done : ICONS.copy);
  clearTimeout(state.timer);
  state.timer = setTimeout(() => {
    setText(state.copyStatus, '');
    state.copy.parentElement.classList.remove('done');
    showIcon(state.copy, ICONS.copy);
  }, COPIED);
}

const showIcon = (button, path) => button.querySelector('.icon').replaceWith(iconElement(path));

export const toolbar = defineComponent({
  create,
  update,
  destroy: ({ root, timer, theme, saved, sharing }) => {
    theme.close();
    saved.close();
    sharing.close();
    root.keys.abort();
    clearTimeout(timer);
  },
});
