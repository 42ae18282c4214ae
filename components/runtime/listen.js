// What the components listen for on the page around them: Streamlit's own text box, links to other pages, keys.

import { onHeadKey } from '../heads/heads.js';
import { flushEvents } from './events.js';
import { mainElement } from './streamlit.js';
import { onTextInput } from './text_box.js';

// What is on its way must be there before the page that it belongs to is left, and before one of Streamlit's buttons
// changes what it is about. Of our own components only their host is seen here: they send in order by themselves.
const onClick = event => {
  const isLink = event.composedPath().some(element => element instanceof HTMLAnchorElement);
  if (isLink || event.target.closest?.('button')) flushEvents();
};

/** Begins to listen; a page that gets the library again ends what the one before it heard. */
export function listenToPage() {
  // Streamlit lets the tab key stop at all of the page; the link that skips to it still can.
  mainElement()?.setAttribute('tabindex', '-1');
  globalThis.attentionLabListening?.abort();
  const { signal } = (globalThis.attentionLabListening = new AbortController());
  document.addEventListener('input', onTextInput, { signal, capture: true });
  document.addEventListener('click', onClick, { signal, capture: true });
  window.addEventListener('keydown', event => onHeadKey(event), { signal, capture: true });
}
