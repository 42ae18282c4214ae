// The links to the pages. A plain click is an event, in order with all others; a click for a new tab is a link.

import { _ } from '../core/texts.js';
import { defineComponent } from '../runtime/component.js';
import { mainElement } from '../runtime/streamlit.js';
import { make, setAttribute } from '../widgets/dom.js';

const TITLE = 'Attention Lab';

function create(state) {
  const list = make('nav', { attributes: { 'aria-label': _('Pages') } });
  state.root.append(list);
  list.addEventListener('click', event => {
    const link = event.target.closest('a');
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    if (link.dataset.page === shown(state)) return;
    state.send({ type: 'page', page: link.dataset.page });
    mainElement()?.scrollTo(0, 0);
    state.refresh();
  });
  return { list };
}

/** The page that was asked for last. */
const shown = state => state.waiting().at(-1)?.page ?? state.data.present;

/** The address of a page with the present state. */
const address = (query, page, first) => {
  const params = new URLSearchParams(query);
  params.delete('page');
  // An address without anything is a first visit's.
  return `?${new URLSearchParams(page === first && params.size ? params : [['page', page], ...params])}`;
};

function update(state, { pages, query }) {
  const present = shown(state);
  const [first] = pages[0];
  // The elements stay, and with them the focus.
  if (state.list.children.length !== pages.length)
    state.list.replaceChildren(...pages.map(([page, title]) => make('a', { textContent: title, dataset: { page } })));
  for (const link of state.list.children) {
    setAttribute(link, 'href', address(query, link.dataset.page, first));
    if (link.dataset.page === present) setAttribute(link, 'aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  const title = pages.find(([page]) => page === present)?.[1];
  document.title = present === first || !title ? TITLE : `${title} · ${TITLE}`;
}

export const navigation = defineComponent({ create, update });
