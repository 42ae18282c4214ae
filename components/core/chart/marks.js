// The marks of lines and dots in a chart: colour by subject, together with shape and dashes, never colour alone.

import { pageData } from '../page_data.js';
import { textWidth, toPx } from '../picture/svg.js';

const DASHES = [null, '7 4', '2 3', '9 3 2 3', '13 4', '1 5'];
const SHAPES = [
  (r => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`)(4),
  'M0 -5.2L5.2 0L0 5.2L-5.2 0z',
  'M0 -5L4.800 3.600L-4.800 3.600z',
  'M-3.800 -3.800h7.600v7.600h-7.600z',
  'M-1.600 -5h3.200v3.400h3.400v3.200h-3.400v3.400h-3.200v-3.400h-3.400v-3.200h3.400z',
  'M0 5L4.800 -3.600L-4.800 -3.600z',
];

/** Returns the colour of a series: an index of the palette for a model; 'ink', 'accent' or 'faint' for other series. */
export function seriesColour(colour, theme) {
  if (typeof colour === 'string') return theme[colour];
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

/** Creates a mark at a position, as a path. */
export const marker = (index, x, y, attributes, ...children) => [
  'path',
  { d: SHAPES[index % SHAPES.length], transform: `translate(${toPx(x)} ${toPx(y)})`, ...attributes },
  ...children,
];

/**
 * Returns a text with a filled rectangle behind it, so that lines do not run through it; `left` and `base` in px.
 * @param {string} text
 * @param {number} left
 * @param {number} base
 * @param {number} size px
 * @param {{ground: string}} theme
 * @param {Record<string, unknown>} attributes of the text
 */
export const backedText = (text, left, base, size, { ground }, attributes) => [
  [
    'rect',
    {
      x: toPx(left - 2),
      y: toPx(base - size),
      width: toPx(textWidth(text, size) + 4),
      height: size + 3,
      fill: ground,
      opacity: 0.85,
    },
  ],
  ['text', { x: toPx(left), y: toPx(base), 'font-size': size, ...attributes }, text],
];

/** Creates the legend sample of a series: {width, nodes} of its line or mark, and its name. */
const sample = ({ name, colour, dash = 0, kind, quiet }, theme, x, y) => {
  const stroke = seriesColour(colour, theme);
  return [
    ...(kind === 'dots'
      ? []
      : [
          [
            'line',
            {
              x1: x,
              x2: x + 26,
              y1: y - 4,
              y2: y - 4,
              stroke,
              'stroke-width': quiet ? 1.5 : 2.5,
              ...dashAttributes(dash),
            },
          ],
        ]),
    ...(kind === 'plain' || quiet ? [] : [marker(dash, x + 13, y - 4, { fill: stroke })]),
    ['text', { x: x + 33, y, 'font-size': 13, fill: theme.ink }, name],
  ];
};

/** Creates the legend above a chart, for charts whose lines have no names: {height, nodes}. */
export function seriesKey(series, width, theme) {
  const nodes = [];
  let [x, y] = [0, 15];
  for (const [index, one] of series.entries()) {
    const needs = 33 + textWidth(one.name, 13) + 20;
    if (x > 0 && x + needs > width) [x, y] = [0, y + 21];
    nodes.push(['g', { 'data-series': index }, ...sample(one, theme, x, y)]);
    x += needs;
  }
  return { height: y + 10, nodes };
}
