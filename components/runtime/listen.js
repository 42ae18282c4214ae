// Listens to the page around the components: keys, and the stops of the tab key.

import { onHeadKey } from '../heads/heads.js';
import { revealElement } from './reveal.js';
import { keySelector, mainElement, watchTables } from './streamlit.js';

const FOLDED = 'about-'; // begins the key of a folded section of the page About (app/views/about.py)

/** Adds the listeners. If a page receives the library again, the listeners of the first version are removed. */
export function listenToPage() {
  // Streamlit makes the whole page a stop of the tab key. This removes the stop; the skip link still works.
  mainElement()?.setAttribute('tabindex', '-1');
  const isFirst = !globalThis.attentionLabListening;
  globalThis.attentionLabListening?.abort();
  const { signal } = (globalThis.attentionLabListening = new AbortController());
  window.addEventListener('keydown', event => onHeadKey(event), { signal, capture: true });
  watchTables(signal);
  window.addEventListener('click', rememberPlace, { signal, capture: true });
  window.addEventListener('hashchange', follow, { signal });
  if (isFirst) openSection();
}

let place = 0; // px from which the page was scrolled to the section that the address names

/** Stores how far the page is scrolled before a click on a link to a section scrolls it. */
function rememberPlace({ target }) {
  if (!location.hash && target.closest?.('a[href^="#"]')) place = mainElement()?.scrollTop ?? 0;
}

/** Goes to the section of a changed address. Without a section it scrolls back, because browsers scroll only the window. */
function follow({ oldURL }) {
  openSection();
  if (!location.hash && new URL(oldURL).search === location.search) mainElement()?.scrollTo(0, place);
}

let opening = null; // ends the wait for the section of an earlier address

/** Opens the folded section that the address names, as soon as it is on the page. */
function openSection() {
  const anchor = location.hash.slice(1);
  opening?.abort();
  if (anchor) opening = revealElement(anchor, `${keySelector(FOLDED + CSS.escape(anchor))}:has(details)`);
}
