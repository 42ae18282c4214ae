// Listens to the page around the components: keys, and the stops of the tab key.

import { onHeadKey } from '../heads/heads.js';
import { mainElement, watchTables } from './streamlit.js';

/** Adds the listeners. If a page receives the library again, the listeners of the first version are removed. */
export function listenToPage() {
  // Streamlit makes the whole page a stop of the tab key. This removes the stop; the skip link still works.
  mainElement()?.setAttribute('tabindex', '-1');
  globalThis.attentionLabListening?.abort();
  const { signal } = (globalThis.attentionLabListening = new AbortController());
  window.addEventListener('keydown', event => onHeadKey(event), { signal, capture: true });
  watchTables(signal);
}
