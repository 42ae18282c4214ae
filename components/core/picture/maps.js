// Pictures and tables for download: one head's map, and the grids of all heads.

import { gateOpacity, hiddenCells, isDifference } from '../attention/pattern.js';
import { colourTicks, differenceStep, hexColour, scaleName, tileSteps, weightStep } from '../attention/scales.js';
import { formatWeight, isolateDirection, quoteToken, tokenText, truncate } from '../format.js';
import { stateName } from '../head_state.js';
import { pageData } from '../page_data.js';
import { _, N_ } from '../texts.js';
import { colourBar, PAPER, textWidth, toPx } from './svg.js';

const CELL = [9, 36]; // sides of the smallest and the largest cell in px
const WHOLE = 560; // side of a map in px, within the limits of CELL
const LABEL = 190; // width of the longest token label in px
const TILE = 88; // side of a head's tile in px
const GAP = 8;

/** How weights become colours: in proportion to their square root, so that small ones are visible, or to them. */
export const SHADINGS = { root: N_('square-root scale'), linear: N_('linear scale') };

const ENDS = {
  difference: [N_('computed weights are higher'), N_('constant weights are higher')],
  change: [N_('less than before'), N_('more than before')],
};

/** Returns the cross over a pruned head; a single line could be read as a diagonal of the pattern. */
const cross = (width, height) =>
  [
    [0, height],
    [height, 0],
  ].map(([y1, y2]) => ['line', { x2: width, y1, y2, stroke: PAPER.ink, 'stroke-width': 2 }]);

/** Returns the text of a cell's tooltip. */
const cellTitle = (rows, columns, i, j, value, difference) =>
  _('query {i} {query} → key {j} {key}: {value}', {
    i: i + 1,
    query: quoteToken(rows[i]),
    j: j + 1,
    key: quoteToken(columns[j]),
    value: formatWeight(value, difference),
  });

const shortLabel = (token, size) => {
  let count = 24;
  let text = truncate(tokenText(token), count);
  while (count > 2 && textWidth(text, size) > LABEL) text = truncate(text, (count -= 1));
  return isolateDirection(text);
};

/**
 * Returns one head's map: a rectangle per cell, a text per token, and the colour scale.
 * @param {{rows: string[], columns: string[], causal: boolean, sink?: boolean,
 *   value: (i: number, j: number) => number, most: number, view: string, pruned: boolean, opacity: number,
 *   shading?: string}} map
 */
export function mapPicture({ rows, columns, causal, sink, value, most, view, pruned, opacity, shading = 'root' }) {
  const hidden = hiddenCells({ causal, sink, columns });
  const difference = isDifference(view);
  const cell = Math.max(CELL[0], Math.min(CELL[1], Math.floor(WHOLE / Math.max(rows.length, columns.length))));
  const size = Math.min(13, cell - 1);
  const [across, down] = [columns, rows].map(tokens => tokens.map(token => shortLabel(token, size)));
  const room = labels => Math.ceil(Math.max(...labels.map(label => textWidth(label, size)))) + 10;
  const [left, top] = [Math.max(60, room(down)), Math.max(34, room(across))];
  const [width, height] = [cell * columns.length, cell * rows.length];
  const scale = scaleName(difference, shading);
  const step = difference ? differenceStep : weightStep;
  const cells = [];
  rows.forEach((_, i) =>
    columns.forEach((__, j) => {
      if (hidden(i, j)) return;
      const weight = value(i, j);
      const fill = hexColour(false, scale, step(weight, most));
      const place = { x: j * cell, y: i * cell, width: cell, height: cell, fill };
      cells.push(['rect', place, ['title', {}, cellTitle(rows, columns, i, j, weight, difference)]]);
    }),
  );
  const { ink, faint, line, panel } = PAPER;
  const text = { 'font-size': size, fill: ink };
  const nodes = [
    [
      'g',
      { transform: `translate(${left} ${top})` },
      ['rect', { width, height, fill: panel }],
      ['g', { stroke: line, 'stroke-width': 0.5, ...(opacity < 1 ? { opacity: toPx(opacity) } : {}) }, ...cells],
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
    ...colourBar({
      x: left + 80,
      y: top + height + 16,
      width: Math.max(160, Math.min(300, width - 160)),
      scale,
      ticks: colourTicks(Number(most.toPrecision(2)), difference, shading).filter(({ fine }) => !fine),
      before: ENDS[view] ? _(ENDS[view][0]) : _('weight'),
      after: ENDS[view] ? _(ENDS[view][1]) : _(SHADINGS[shading]),
    }),
  ];
  return { width: left + Math.max(width, 500), height: top + height + 48, nodes };
}

/** Returns the map's numbers as a table with one row per query and key. */
export function mapTable({ rows, columns, causal, sink, value, name }) {
  const hidden = hiddenCells({ causal, sink, columns });
  const number = j => (sink && j === columns.length - 1 ? 'sink' : j + 1);
  return {
    columns: ['query', 'query token', 'key', 'key token', name],
    rows: rows.flatMap((query, i) =>
      columns.flatMap((key, j) => (hidden(i, j) ? [] : [[i + 1, query, number(j), key, value(i, j)]])),
    ),
  };
}

/** Returns the non-zero cells of one thumbnail as one SVG path per colour. */
function paths(tiles, index, grid, scale) {
  const step = tileSteps(tiles, index, grid);
  const pathByStep = new Map();
  for (let i = 0; i < grid.rows; i += 1) {
    for (let j = 0; j < grid.columns; ) {
      const value = step(i, j);
      let end = j + 1;
      while (end < grid.columns && step(i, end) === value) end += 1;
      if (value) pathByStep.set(value, `${pathByStep.get(value) ?? ''}M${j} ${i}h${end - j}v1h${j - end}z`);
      j = end;
    }
  }
  return [...pathByStep].map(([value, d]) => ['path', { d, fill: hexColour(false, scale, value) }]);
}

/** Returns a picture of all heads with their states: one grid per attention block, layers down and heads across. */
export function gridPicture(grids, tilesOf, shading = 'root') {
  const { ink, faint, line, panel } = PAPER;
  const nodes = [];
  let [y, width] = [0, 0];
  for (const grid of grids) {
    const { layers, heads, rows, columns, title } = grid;
    if (grids.length > 1) {
      nodes.push(['text', { x: 0, y: y + 15, 'font-size': 14, 'font-weight': 600, fill: ink }, title]);
      y += 26;
    }
    const word = (text, x, at, anchor = 'middle') => [
      'text',
      { x, y: at, 'font-size': 12, fill: faint, 'text-anchor': anchor },
      text,
    ];
    const [left, top] = [64, y + 24];
    for (let head = 0; head < heads; head += 1)
      nodes.push(word(_('head {head}', { head: head + 1 }), left + head * (TILE + GAP) + TILE / 2, top - 8));
    for (let layer = 0; layer < layers; layer += 1) {
      nodes.push(
        word(_('layer {layer}', { layer: layer + 1 }), left - 8, top + layer * (TILE + GAP + 4) + TILE / 2, 'end'),
      );
      for (let head = 0; head < heads; head += 1) {
        const [constant, gate] = [grid.constant[layer][head], grid.gates[layer][head]];
        const patched = Boolean(grid.patched?.[layer]?.[head]);
        const badge = `${constant ? 'C' : ''}${patched ? 'P' : ''}`;
        const cells = paths(tilesOf(grid.kind), layer * heads + head, grid, scaleName(false, shading));
        const scale = `scale(${toPx(TILE / columns)} ${toPx(TILE / rows)})`;
        const border = badge ? { stroke: pageData.colours.light.accent, 'stroke-width': 2 } : { stroke: line };
        nodes.push([
          'g',
          { transform: `translate(${left + head * (TILE + GAP)} ${top + layer * (TILE + GAP + 4)})` },
          [
            'title',
            {},
            _('layer {layer}, head {head}, {state}', {
              layer: layer + 1,
              head: head + 1,
              state: stateName(constant, gate, patched),
            }),
          ],
          ['rect', { width: TILE, height: TILE, fill: panel, ...border }],
          ['g', { transform: scale, ...(gate < 1 ? { opacity: toPx(gateOpacity(gate)) } : {}) }, ...cells],
          ...(badge
            ? [
                [
                  'text',
                  { x: TILE - 5, y: 15, 'font-size': 13, 'font-weight': 700, fill: ink, 'text-anchor': 'end' },
                  badge,
                ],
              ]
            : []),
          ...(gate === 0 ? cross(TILE, TILE) : []),
          ...(gate > 0 && gate < 1
            ? [['rect', { y: TILE + 2, width: toPx(TILE * gate), height: 3, fill: pageData.colours.light.accent }]]
            : []),
        ]);
      }
    }
    width = Math.max(width, left + heads * (TILE + GAP));
    y = top + layers * (TILE + GAP + 4) + 12;
  }
  nodes.push(
    ...colourBar({
      x: 130,
      y,
      width: 260,
      scale: scaleName(false, shading),
      ticks: colourTicks(1, false, shading).filter(({ fine }) => !fine),
      before: _('weight'),
      after: _(SHADINGS[shading]),
    }),
  );
  return { width, height: y + 32, nodes };
}
