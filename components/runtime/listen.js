// Listens to the page around the components: Streamlit's text box, links to other pages, keys.

import { onHeadKey } from '../heads/heads.js';
import { flushEvents } from './events.js';
import { mainElement } from './streamlit.js';

// Waiting events are sent before a link leaves the page, and before a Streamlit button changes the state. A click
// inside a component is visible here only as a click on the component's host; components send their events in order
// themselves.
const onClick = event => {
  const isLink = event.composedPath().some(element => element instanceof HTMLAnchorElement);
  if (isLink || event.target.closest?.('button')) flushEvents();
};

/** Adds the listeners. If a page receives the library again, the listeners of the first version are removed. */
export function listenToPage() {
  // Streamlit makes the whole page a stop of the tab key. This removes the stop; the skip link still works.
  mainElement()?.setAttribute('tabindex', '-1');
  globalThis.attentionLabListening?.abort();
  const { signal } = (globalThis.attentionLabListening = new AbortController());
  document.addEventListener('click', onClick, { signal, capture: true });
  window.addEventListener('keydown', event => onHeadKey(event), { signal, capture: true });
}
