// Colour scales of assets/colours.json. The stops of a scale are close and evenly spaced in perceived lightness, so
// colours between stops are interpolated linearly in RGB. A step is a colour index, 0 to 255.

import { pageData } from '../page_data.js';

const STEPS = 256;
const DARKEST = Math.sqrt(1.05 * 0.05) - 0.05; // the luminance to which black and white have the same contrast
const tables = new Map();

const channels = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));

/** Returns 256 opaque pixels (Uint32 for putImageData) of a scale. */
export function colourTable(dark, scale) {
  const key = `${dark} ${scale}`;
  if (!tables.has(key)) {
    const stops = pageData.colours[dark ? 'dark' : 'light'][scale].map(channels);
    const pixels = new Uint8ClampedArray(4 * STEPS);
    for (let step = 0; step < STEPS; step += 1) {
      const at = (step / (STEPS - 1)) * (stops.length - 1);
      const low = Math.min(Math.floor(at), stops.length - 2);
      for (let c = 0; c < 3; c += 1)
        pixels[4 * step + c] = stops[low][c] + (at - low) * (stops[low + 1][c] - stops[low][c]);
      pixels[4 * step + 3] = 255;
    }
    tables.set(key, new Uint32Array(pixels.buffer));
  }
  return tables.get(key);
}

/** Returns the CSS colour of a scale for a step divided by 255. */
export function cssColour(dark, scale, part) {
  const pixel = colourTable(dark, scale)[Math.round(Math.min(1, Math.max(0, part)) * (STEPS - 1))];
  return `rgb(${pixel & 255} ${(pixel >> 8) & 255} ${(pixel >> 16) & 255})`;
}

/** Returns the colour of a step, 0 to 255, as `#rrggbb`. */
export function hexColour(dark, scale, step) {
  const pixel = colourTable(dark, scale)[step];
  const pair = shift => ((pixel >> shift) & 255).toString(16).padStart(2, '0');
  return `#${pair(0)}${pair(8)}${pair(16)}`;
}

/** Returns the step for a weight: 255 * sqrt(weight). The square root makes small weights visible. */
export const weightStep = weight => Math.round(Math.sqrt(Math.min(1, Math.max(0, weight))) * (STEPS - 1));

const linear = value => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);

/** Returns black or white, whichever has the higher contrast to that colour: at least 4.58:1 (WCAG 2.2). */
export function contrastColour(dark, scale, part) {
  const [red, green, blue] = cssColour(dark, scale, part)
    .match(/\d+/g)
    .map(channel => linear(Number(channel) / 255));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > DARKEST ? '#000' : '#fff';
}

/** Returns a matrix as pixels, one per cell, from `step(i, j)` of 0 to 255; cells without a step are transparent. */
export function matrixPixels(rows, columns, table, step) {
  const pixels = new Uint32Array(rows * columns);
  for (let i = 0; i < rows; i += 1) {
    for (let j = 0; j < columns; j += 1) {
      const value = step(i, j);
      if (value !== undefined) pixels[i * columns + j] = table[value];
    }
  }
  return pixels;
}
