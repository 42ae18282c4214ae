// Listens to the page around the components: links to sections, and the stops of the tab key.

import { revealElement } from './reveal.js';
import { keySelector, mainElement, sendAddressAtReconnect, watchTables } from './streamlit.js';

const STATEMENT = 'claim-'; // begins the key of a statement of the page Results (app/views/results.py)

/** Adds the listeners. If a page receives the library again, the listeners of the first version are removed. */
export function listenToPage() {
  // Streamlit makes the whole page a stop of the tab key. This removes the stop; the skip link still works.
  mainElement()?.setAttribute('tabindex', '-1');
  const isFirst = !globalThis.attentionLabListening;
  globalThis.attentionLabListening?.abort();
  const { signal } = (globalThis.attentionLabListening = new AbortController());
  watchTables(signal);
  sendAddressAtReconnect();
  window.addEventListener('click', rememberPlace, { signal, capture: true });
  window.addEventListener('hashchange', follow, { signal });
  if (isFirst) openSection();
}

const places = new Map(); // hash of an address -> px from the top of the screen to its section when the user left it

/** Returns the px from the top of the screen down to the section of a hash, or to the start of the page without one. */
function topOf(hash) {
  const main = mainElement();
  const section = document.getElementById(hash.slice(1));
  return section ? section.getBoundingClientRect().top - main.getBoundingClientRect().top : -main.scrollTop;
}

/** Stores how far the page is scrolled before a click on a link to a section scrolls it. */
function rememberPlace({ target }) {
  const link = target.closest?.('a[href^="#"]');
  if (!link) return;
  places.set(location.hash, topOf(location.hash));
  places.delete(link.hash);
}

/** Goes to the section of a changed address; on the way back to where it was left, because browsers scroll the window. */
function follow({ oldURL }) {
  const before = new URL(oldURL);
  const { hash } = location;
  if (before.search === location.search && places.has(hash)) {
    places.set(before.hash, topOf(before.hash));
    mainElement().scrollBy(0, topOf(hash) - places.get(hash));
    places.delete(hash);
  }
  openSection();
}

let opening = null; // ends the wait for the section of an earlier address

/** Opens the folded section that the address names, as soon as it is on the page. */
function openSection() {
  const anchor = location.hash.slice(1);
  opening?.abort();
  if (anchor) opening = revealElement(anchor, `[class*="${keySelector(STATEMENT).slice(1)}"]`);
}
