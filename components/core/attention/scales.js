// Colour scales of assets/colours.json. The stops of a scale are close and evenly spaced in perceived lightness, so
// colours between stops are interpolated linearly in RGB. A step is a colour index, 0 to 255.

import { pageData } from '../page_data.js';
import { cellIndex } from '../payload.js';
import { hiddenCells } from './pattern.js';

const STEPS = 256;
const DARKEST = Math.sqrt(1.05 * 0.05) - 0.05; // the luminance to which black and white have the same contrast
const tables = new Map();

const LINEAR = '-linear'; // end of the name of a scale whose colours are in proportion to the weights

/**
 * Returns the name of a scale. Steps are square roots of weights, and the name selects how a step becomes a colour.
 * @param {boolean} difference true for positive and negative numbers
 * @param {string} [shading] `root`: the colour is in proportion to the step; `linear`: to its square, the weight
 */
export const scaleName = (difference, shading) =>
  `${difference ? 'diverging' : 'sequential'}${shading === 'linear' ? LINEAR : ''}`;

/** Returns the name of a scale's colours, which its linear form shares: `sequential` or `diverging`. */
export const coloursOf = scale => scale.replace(LINEAR, '');

/** Returns whether a scale is linear in the weights. */
export const isLinear = scale => scale.endsWith(LINEAR);

/** Returns the step that has the page's background colour. */
export const emptyStep = scale => (coloursOf(scale) === 'diverging' ? 128 : 0);

/** Returns the step of a word's tint if the head's gate fades it to an opacity; a linear scale squares the step. */
export const fadedStep = (step, opacity, scale) => Math.round(step * (isLinear(scale) ? Math.sqrt(opacity) : opacity));

/** Returns the position of a step on the colours of a scale, 0 to 1. */
function position(step, scale) {
  const part = step / (STEPS - 1);
  if (!isLinear(scale)) return part;
  const signed = 2 * part - 1;
  return coloursOf(scale) === 'diverging' ? 0.5 + (Math.sign(signed) * signed ** 2) / 2 : part ** 2;
}

const channels = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));

/** Returns 256 opaque pixels (Uint32 for putImageData) of a scale, see `scaleName`. */
export function colourTable(dark, scale) {
  const key = `${dark} ${scale}`;
  if (!tables.has(key)) {
    const stops = pageData.colours[dark ? 'dark' : 'light'][coloursOf(scale)].map(channels);
    const pixels = new Uint8ClampedArray(4 * STEPS);
    for (let step = 0; step < STEPS; step += 1) {
      const at = position(step, scale) * (stops.length - 1);
      const low = Math.min(Math.floor(at), stops.length - 2);
      for (let c = 0; c < 3; c += 1)
        pixels[4 * step + c] = stops[low][c] + (at - low) * (stops[low + 1][c] - stops[low][c]);
      pixels[4 * step + 3] = 255;
    }
    tables.set(key, new Uint32Array(pixels.buffer));
  }
  return tables.get(key);
}

/** Returns the CSS gradient of a scale, from left to right. */
export const cssGradient = (dark, scale) =>
  `linear-gradient(90deg, ${pageData.colours[dark ? 'dark' : 'light'][coloursOf(scale)].join(', ')})`;

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

const linear = value => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);

/** Returns black or white, whichever has the higher contrast to that colour: at least 4.58:1 (WCAG 2.2). */
export function contrastColour(dark, scale, part) {
  const [red, green, blue] = cssColour(dark, scale, part)
    .match(/\d+/g)
    .map(channel => linear(Number(channel) / 255));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > DARKEST ? '#000' : '#fff';
}

/** Returns the step for a weight: 255 * sqrt(weight / most). The square root makes small weights visible. */
export const weightStep = (weight, most = 1) =>
  Math.round(Math.sqrt(Math.min(1, Math.max(0, weight / most))) * (STEPS - 1));

/** Returns the step of the diverging scale for a difference, -most to most: signed square root, 0 in the middle. */
export const differenceStep = (value, most = 1) =>
  Math.round((0.5 + 0.5 * Math.sign(value) * Math.sqrt(Math.min(1, Math.abs(value / most)))) * (STEPS - 1));

/**
 * Returns a matrix as pixels, one per cell; cells without a step are transparent.
 * @param {(i: number, j: number) => number | undefined} step row, column -> 0 to 255
 */
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

/** Returns a function (i, j) -> step (0 to 255) of thumbnail `index` in the packed `tiles` (models/thumbnails.py). */
export function tileSteps(tiles, index, grid) {
  const { rows, columns } = grid;
  const packed = grid.causal && !grid.sink;
  const size = packed ? (rows * (rows + 1)) / 2 : rows * columns;
  const place = cellIndex(packed, columns);
  const hidden = hiddenCells(grid);
  return (i, j) => (hidden(i, j) ? undefined : tiles[index * size + place(i, j)]);
}

/**
 * Returns the ticks of a scale up to `most`: {at, label, fine}. `at` is the position along the bar, 0 to 1; ticks with
 * `fine` are optional.
 */
export function colourTicks(most, difference, shading = 'root') {
  const isEven = shading === 'linear';
  const place = isEven ? part => part : Math.sqrt;
  const sign = part => (difference && part !== 0 ? (part < 0 ? '−' : '+') : '');
  const round = value => String(Number(Math.abs(value).toPrecision(2)));
  return partsOf(most, difference, isEven).map(part => ({
    at: difference ? 0.5 + 0.5 * Math.sign(part) * place(Math.abs(part)) : place(part),
    label: sign(part) + round(part * most),
    fine: part === 0.01 || (!isEven && Math.abs(part) === 0.25 && most !== 1),
  }));
}

/** Returns the numbers that have ticks, divided by `most`. On an even scale, small numbers would overlap. */
function partsOf(most, difference, isEven) {
  if (isEven) return difference ? [-1, -0.5, 0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1];
  // If the largest weight is not 1, labels are long and fewer of them fit.
  if (!difference) return most === 1 ? [0, 0.01, 0.1, 0.25, 0.5, 1] : [0, 0.1, 0.25, 0.5, 1];
  return most >= 0.1 ? [-1, -0.5, -0.1, 0, 0.1, 0.5, 1] : [-1, -0.25, 0, 0.25, 1];
}
