// Converts a picture to one HTML file, which works without a network and shows the values under the pointer.

import { escapeXml, toMarkup } from './svg.js';

const STYLE = `
body { margin: 0; padding: 1rem; background: #fff; color: #1b1b26; font: 16px/1.5 ${'system-ui, sans-serif'}; }
main { max-width: max-content; margin: 0 auto; }
svg { display: block; max-width: 100%; height: auto; }
svg:focus-visible { outline: 2px solid #3f3d9e; }
.ring { fill: none; stroke: #1b1b26; stroke-width: 1.5; vector-effect: non-scaling-stroke; pointer-events: none; }
#readout { position: sticky; bottom: 0; margin: 0; padding: 0.5rem 1.25rem; min-height: 1.5em; background: #f4f4f8; }
`;

/** Returns the HTML file of a framed picture; `rest` is the text while the pointer is on no mark. */
export function standalonePage({ title, rest, tree: [tag, attributes, ...children], script, language = 'en' }) {
  const aria = { 'aria-label': title, 'aria-describedby': 'readout' };
  const named = { ...attributes, role: 'application', tabindex: '0', ...aria };
  return [
    `<!doctype html><html lang="${escapeXml(language)}"><head><meta charset="utf-8">`,
    // The policy blocks every request of this file, whatever its texts contain.
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; ",
    "script-src 'unsafe-inline'\">",
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escapeXml(title)}</title><style>${STYLE}</style></head><body><main>`,
    toMarkup([tag, named, ...children]),
    `<p id="readout" role="status">${escapeXml(rest)}</p></main><script>${script}</script></body></html>\n`,
  ].join('');
}
