// The links to the pages. A plain click sends an event, in order with all other events. Other clicks follow the link.
// On a phone the links are a menu, which a button with the name of the current page opens.

import { linkQuery } from '../core/query.js';
import { _ } from '../core/texts.js';
import { defineComponent } from '../runtime/component.js';
import { mainElement } from '../runtime/streamlit.js';
import { make, setAttribute, setText } from '../widgets/dom.js';

const TITLE = 'Attention Lab';

function create(state) {
  const list = make('nav', { id: 'pages', attributes: { 'aria-label': _('Pages') } });
  const name = make('span');
  const button = make(
    'button',
    { type: 'button', attributes: { 'aria-expanded': 'false', 'aria-controls': 'pages' } },
    make('span', { className: 'pages', textContent: _('Pages') }),
    name,
  );
  state.root.append(button, list);
  const open = isOpen => {
    list.classList.toggle('open', isOpen);
    setAttribute(button, 'aria-expanded', isOpen);
  };
  button.addEventListener('click', () => open(!list.classList.contains('open')));
  state.root.addEventListener('keydown', event => {
    if (event.key !== 'Escape' || !list.classList.contains('open')) return;
    event.stopPropagation();
    open(false);
    button.focus();
  });
  state.root.addEventListener('focusout', event => {
    if (!state.root.contains(event.relatedTarget)) open(false);
  });
  list.addEventListener('click', event => {
    const link = event.target.closest('a');
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    if (list.classList.contains('open')) button.focus();
    open(false);
    // in a lesson, the link to the page behind it leaves the lesson
    if (link.dataset.page === shown(state) && !state.data.section) return;
    state.send({ type: 'page', page: link.dataset.page });
    mainElement()?.scrollTo(0, 0);
    state.refresh();
  });
  const outside = new AbortController();
  const onPress = event => event.composedPath().includes(state.root) || open(false); // on touch screens a tap may leave the focus where it is
  document.addEventListener('pointerdown', onPress, { signal: outside.signal });
  return { list, name, outside };
}

/** Returns the page that was requested last. */
const shown = state => state.waiting().at(-1)?.page ?? state.data.present;

/** Returns the link to a page with the current state. */
const address = (query, page, first) => {
  const params = new URLSearchParams(query);
  params.delete('page');
  // A link without parameters would open the start page, so a link without other parameters contains the page.
  return `?${linkQuery(page === first && params.size ? params : [['page', page], ...params])}`;
};

function update(state, { pages, query, section }) {
  const present = shown(state);
  const [first] = pages[0];
  // Elements are reused, so that the focus stays.
  if (state.list.children.length !== pages.length)
    state.list.replaceChildren(...pages.map(([page, title]) => make('a', { textContent: title, dataset: { page } })));
  // A section (a lesson, the page for teachers) is marked in place of its page, until another page is requested.
  const marked = section && present === state.data.present ? section : present;
  for (const link of state.list.children) {
    setAttribute(link, 'href', address(query, link.dataset.page, first));
    if (link.dataset.page === marked) setAttribute(link, 'aria-current', marked === present ? 'page' : 'true');
    else link.removeAttribute('aria-current');
  }
  const titleOf = key => pages.find(([page]) => page === key)?.[1];
  setText(state.name, titleOf(marked) ?? '');
  const title = titleOf(present);
  document.title = present === first || !title ? TITLE : `${title} · ${TITLE}`;
}

export const navigation = defineComponent({ create, update, destroy: ({ outside }) => outside.abort() });
