// Loads Vega when the first chart is drawn: 305 kB compressed, which the browser caches.

import { pageData } from '../core/page_data.js';

let loading = null;

/** Returns the address of Vega's script. */
export const vegaAddress = () => new URL(pageData.figures.script, document.baseURI).href;

/** Loads Vega once and returns Vega-Embed; after a failure the next call tries again. */
export function loadVega() {
  loading ??= import(vegaAddress()).then(
    () => globalThis.attentionLabVega.vegaEmbed,
    error => {
      loading = null;
      throw error;
    },
  );
  return loading;
}

// Only errors are logged, because Vega logs a warning for each layer without rows.
const OPTIONS = { actions: false, ast: true, defaultStyle: false, hover: false, logLevel: 1 };

/** Draws a specification into an element. Returns Vega-Embed's result: {view, finalize()}. */
export async function embed(element, spec, { dark = false, canvas = false } = {}) {
  const vegaEmbed = await loadVega();
  return vegaEmbed(element, spec, {
    ...OPTIONS,
    renderer: canvas ? 'canvas' : 'svg',
    tooltip: { theme: dark ? 'dark' : 'light' },
  });
}
