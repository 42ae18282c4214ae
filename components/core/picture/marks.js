// Marks that distinguish models in charts: colour together with shape and dashes, never colour alone.

import { pageData } from '../page_data.js';
import { toPx } from './svg.js';

const DASHES = [null, '7 4', '2 3', '9 3 2 3', '13 4', '1 5'];
const SHAPES = [
  (r => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`)(4),
  'M0 -5.2L5.2 0L0 5.2L-5.2 0z',
  'M0 -5L4.800 3.600L-4.800 3.600z',
  'M-3.800 -3.800h7.600v7.600h-7.600z',
  'M-1.600 -5h3.200v3.400h3.400v3.200h-3.400v3.400h-3.200v-3.400h-3.400v-3.200h3.400z',
  'M0 5L4.800 -3.600L-4.800 -3.600z',
];

/** Returns the colour of a model; `colour` is an index of the palette. */
export function seriesColour(colour, theme) {
  const palette = pageData.colours[theme.dark ? 'dark' : 'light'].series;
  return palette[colour % palette.length];
}

/**
 * Returns the attributes of a line's dashes.
 * @param {number} index
 * @returns {Record<string, string>}
 */
export function dashAttributes(index) {
  const dash = DASHES[index % DASHES.length];
  return dash ? { 'stroke-dasharray': dash } : {};
}

/** Creates a mark at a position, as an SVG path. */
export const marker = (index, x, y, attributes, ...children) => [
  'path',
  { d: SHAPES[index % SHAPES.length], transform: `translate(${toPx(x)} ${toPx(y)})`, ...attributes },
  ...children,
];
