// Listens to the page around the components: the stops of the tab key.

import { mainElement, sendAddressAtReconnect, watchTables } from './streamlit.js';

/** Adds the listeners. If a page receives the library again, the listeners of the first version are removed. */
export function listenToPage() {
  // Streamlit makes the whole page a stop of the tab key. This removes the stop; the skip link still works.
  mainElement()?.setAttribute('tabindex', '-1');
  globalThis.attentionLabListening?.abort();
  const { signal } = (globalThis.attentionLabListening = new AbortController());
  watchTables(signal);
  sendAddressAtReconnect();
}
