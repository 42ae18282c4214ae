// The picture and the table of one pattern, for download.

import { hexColour, weightStep } from '../attention/scales.js';
import { formatWeight, isolateDirection, quoteToken, tokenText, truncate } from '../format.js';
import { pageData } from '../page_data.js';
import { hiddenCells } from '../stage/weights.js';
import { _ } from '../texts.js';
import { PAPER, textWidth, toPx } from './svg.js';

const CELL = [9, 36]; // sides of the smallest and the largest cell in px
const WHOLE = 560; // side of a map in px, within the limits of CELL
const LABEL = 190; // width of the longest token label in px
const TICKS = [0, 0.1, 0.25, 0.5, 1]; // weights at the colour scale

/** Returns the cross over a pruned head; a single line could be read as a diagonal of the pattern. */
const cross = (width, height) =>
  [
    [0, height],
    [height, 0],
  ].map(([y1, y2]) => ['line', { x2: width, y1, y2, stroke: PAPER.ink, 'stroke-width': 2 }]);

/** Returns the text of a cell's tooltip. */
const cellTitle = (rows, columns, i, j, value) =>
  _('query {i} {query} → key {j} {key}: {value}', {
    i: i + 1,
    query: quoteToken(rows[i]),
    j: j + 1,
    key: quoteToken(columns[j]),
    value: formatWeight(value),
  });

const shortLabel = (token, size) => {
  let count = 24;
  let text = truncate(tokenText(token), count);
  while (count > 2 && textWidth(text, size) > LABEL) text = truncate(text, (count -= 1));
  return isolateDirection(text);
};

/** Returns a pattern: a rectangle per cell, a text per token, and the colour scale. */
export function mapPicture({ rows, columns, causal, sink, value, pruned }) {
  const hidden = hiddenCells({ causal, sink, columns: columns.length });
  const cell = Math.max(CELL[0], Math.min(CELL[1], Math.floor(WHOLE / Math.max(rows.length, columns.length))));
  const size = Math.min(13, cell - 1);
  const [across, down] = [columns, rows].map(tokens => tokens.map(token => shortLabel(token, size)));
  const room = labels => Math.ceil(Math.max(...labels.map(label => textWidth(label, size)))) + 10;
  const [left, top] = [Math.max(60, room(down)), Math.max(34, room(across))];
  const [width, height] = [cell * columns.length, cell * rows.length];
  const cells = [];
  rows.forEach((_, i) =>
    columns.forEach((__, j) => {
      if (hidden(i, j)) return;
      const weight = value(i, j);
      const fill = hexColour(false, 'attention', weightStep(weight));
      const place = { x: j * cell, y: i * cell, width: cell, height: cell, fill };
      cells.push(['rect', place, ['title', {}, cellTitle(rows, columns, i, j, weight)]]);
    }),
  );
  const { ink, faint, line, panel } = PAPER;
  const text = { 'font-size': size, fill: ink };
  const nodes = [
    [
      'g',
      { transform: `translate(${left} ${top})` },
      ['rect', { width, height, fill: panel }],
      ['g', { stroke: line, 'stroke-width': 0.5 }, ...cells],
      ['rect', { width, height, fill: 'none', stroke: line }],
      ...(pruned ? cross(width, height) : []),
    ],
    [
      'g',
      { ...text, 'text-anchor': 'end' },
      ...down.map((label, i) => ['text', { x: left - 6, y: toPx(top + (i + 0.5) * cell + 0.35 * size) }, label]),
    ],
    [
      'g',
      text,
      ...across.map((label, j) => {
        const [x, y] = [left + (j + 0.5) * cell + 0.35 * size, top - 6];
        return ['text', { transform: `translate(${toPx(x)} ${y}) rotate(-90)` }, label];
      }),
    ],
    [
      'g',
      { 'font-size': 12, fill: faint, 'text-anchor': 'end' },
      ['text', { x: left - 8, y: top - 22 }, _('key →')],
      ['text', { x: left - 8, y: top - 6 }, _('query ↓')],
    ],
    ...colourBar(left + 80, top + height + 16, Math.max(160, Math.min(300, width - 160))),
  ];
  return { width: left + Math.max(width, 500), height: top + height + 48, nodes };
}

/** Returns the colours of the weights as a bar with ticks. */
function colourBar(x, y, width) {
  const stops = pageData.colours.light.attention;
  const text = (words, at, down, anchor) => [
    'text',
    { x: toPx(at), y: toPx(y + down), 'font-size': 11, fill: PAPER.faint, 'text-anchor': anchor },
    words,
  ];
  const colours = stops.map((colour, i) => ['stop', { offset: toPx(i / (stops.length - 1)), 'stop-color': colour }]);
  return [
    ['defs', {}, ['linearGradient', { id: 'bar' }, ...colours]],
    text(_('weight'), x - 8, 10, 'end'),
    ['rect', { x: toPx(x), y: toPx(y), width: toPx(width), height: 12, fill: 'url(#bar)', stroke: PAPER.line }],
    ...TICKS.map(part => text(String(part), x + Math.sqrt(part) * width, 25, 'middle')),
    text(_('square-root scale'), x + width + 8, 10, 'start'),
  ];
}

/** Returns the map's numbers as a table with one row per query and key. */
export function mapTable({ rows, columns, causal, sink, value, name }) {
  const hidden = hiddenCells({ causal, sink, columns: columns.length });
  const number = j => (sink && j === columns.length - 1 ? 'sink' : j + 1);
  return {
    columns: ['query', 'query token', 'key', 'key token', name],
    rows: rows.flatMap((query, i) =>
      columns.flatMap((key, j) => (hidden(i, j) ? [] : [[i + 1, query, number(j), key, value(i, j)]])),
    ),
  };
}
