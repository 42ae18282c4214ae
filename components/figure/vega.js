// Vega, loaded when a chart is first drawn: 305 kB compressed, which the browser caches.

import { pageData } from '../core/page_data.js';

let loading = null;

/** Returns the address of the script. */
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

// Vega warns of each layer without rows, such as the points of a series that has none; errors are logged.
const OPTIONS = { actions: false, ast: true, defaultStyle: false, hover: false, logLevel: 1 };

/**
 * Draws a specification into an element. Returns Vega-Embed's result: {view, finalize()}.
 * @param {HTMLElement} element
 * @param {any} spec
 * @param {{dark?: boolean, canvas?: boolean}} how
 */
export async function embed(element, spec, { dark = false, canvas = false } = {}) {
  const vegaEmbed = await loadVega();
  return vegaEmbed(element, spec, {
    ...OPTIONS,
    renderer: canvas ? 'canvas' : 'svg',
    tooltip: { theme: dark ? 'dark' : 'light' },
  });
}
