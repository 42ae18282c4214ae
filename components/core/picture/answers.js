// Pictures and tables for download: predictions by layer, and sorted bars.

import { hexColour, weightStep } from '../attention/scales.js';
import { formatNumber, formatPercent, isolateDirection, tokenText, truncate } from '../format.js';
import { _ } from '../texts.js';
import { PAPER, textWidth, toPx } from './svg.js';

const ROW = 24; // px
const CELL = [92, 26]; // px
const BAR = 320; // length in px of the longest bar
const SIZE = 13;

const short = (token, count) => isolateDirection(truncate(tokenText(token), count));

/**
 * Returns the k most probable tokens of a cell: [{word, probability}].
 * @param {{words: string[], shape: number[]}} data
 * @param {any} ids (L + 1, P, k) indices of words
 * @param {any} probabilities
 */
export function lensCell({ words, shape }, ids, probabilities, layer, position) {
  const [, positions, count] = shape;
  const start = (layer * positions + position) * count;
  return Array.from({ length: count }, (_, i) => ({
    word: words[ids[start + i]],
    probability: probabilities[start + i],
  }));
}

/** Returns the name of a row: the embedding, or a layer counted from 1. */
export const lensRow = layer => (layer ? _('layer {layer}', { layer }) : _('embedding'));

/** Returns the table of layers and positions as a picture. */
export function lensPicture(data, ids, probabilities) {
  const [layers, positions] = data.shape;
  const { ink, faint } = PAPER;
  const nodes = data.tokens.map((token, j) => [
    'text',
    { x: toPx(100 + (j + 0.5) * CELL[0]), y: 18, 'text-anchor': 'middle', 'font-size': SIZE, fill: faint },
    short(token, 10),
  ]);
  for (let layer = 0; layer < layers; layer += 1) {
    const y = ROW + 4 + layer * CELL[1];
    nodes.push(['text', { x: 92, y: y + 18, 'text-anchor': 'end', 'font-size': SIZE, fill: ink }, lensRow(layer)]);
    for (let position = 0; position < positions; position += 1) {
      const [{ word, probability }] = lensCell(data, ids, probabilities, layer, position);
      const step = weightStep(probability);
      nodes.push(
        [
          'rect',
          {
            x: 100 + position * CELL[0],
            y,
            width: CELL[0] - 2,
            height: CELL[1] - 2,
            fill: hexColour(false, 'sequential', step),
          },
          ['title', {}, `${short(word, 40)} ${formatPercent(probability)}`],
        ],
        [
          'text',
          {
            x: toPx(100 + (position + 0.5) * CELL[0]),
            y: y + 17,
            'text-anchor': 'middle',
            'font-size': SIZE,
            fill: step > 128 ? '#fff' : ink,
          },
          short(word, 10),
        ],
      );
    }
  }
  return { width: 100 + positions * CELL[0], height: ROW + 4 + layers * CELL[1], nodes };
}

/** Returns the rows of the table, one per layer and position. */
export function lensTable(data, ids, probabilities) {
  const [layers, positions, count] = data.shape;
  const rows = [];
  for (let layer = 0; layer < layers; layer += 1)
    for (let position = 0; position < positions; position += 1)
      rows.push([
        layer,
        data.tokens[position],
        ...lensCell(data, ids, probabilities, layer, position).flatMap(({ word, probability }) => [word, probability]),
      ]);
  const tops = Array.from({ length: count }, (_, i) => [`token ${i + 1}`, `probability ${i + 1}`]).flat();
  return { columns: ['layer', 'position', ...tops], rows };
}

/** Returns bars in display order: the largest absolute value first. */
export const sortedBars = bars => [...bars].sort((one, other) => Math.abs(other.value) - Math.abs(one.value));

/** Returns {zero, part}: the position of 0 on the track, 0 to 1, and the fraction of the track that one unit takes. */
export function barScale(bars) {
  const values = bars.map(({ value }) => value);
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  const part = 1 / Math.max(1e-9, high - low);
  return { zero: (0 - low) * part, part };
}

/** Returns a bar's value with its unit. */
export const barValue = (value, unit) =>
  unit === '%' ? `${formatNumber(value, 0, true)}%` : formatNumber(value, 2, true);

/** Returns the sorted bars as a picture. */
export function barsPicture({ bars, unit }) {
  const { ink } = PAPER;
  const sorted = sortedBars(bars);
  const { zero, part } = barScale(bars);
  const left = Math.ceil(Math.max(60, ...bars.map(({ label }) => textWidth(label, SIZE)))) + 12;
  const nodes = sorted.flatMap(({ label, value }, i) => {
    const [y, width] = [i * ROW, BAR * part * Math.abs(value)];
    const x = left + BAR * zero - (value < 0 ? width : 0);
    const fill = hexColour(false, 'diverging', value < 0 ? 40 : 215);
    return [
      ['text', { x: left - 8, y: y + 16, 'text-anchor': 'end', 'font-size': SIZE, fill: ink }, label],
      ['rect', { x: toPx(x), y: y + 4, width: toPx(width), height: ROW - 8, fill }],
      ['text', { x: left + BAR + 8, y: y + 16, 'font-size': SIZE, fill: ink }, barValue(value, unit)],
    ];
  });
  return { width: left + BAR + 80, height: ROW * bars.length, nodes };
}

/** Returns the sorted bars as a table. */
export const barsTable = ({ bars, unit }) => ({
  columns: ['part', unit],
  rows: sortedBars(bars).map(({ label, value }) => [label, value]),
});
