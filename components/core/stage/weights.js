// Attention weights of the Lab's payload, and the words to which a head, a layer or all heads attend.

import { cellIndex } from '../payload.js';

const STEPS = 255; // weights arrive as bytes, round(255 * sqrt(weight))

export const SHOWN = 0.012; // smallest weight that tints a word
export const NUMBERED = 0.02; // smallest weight with a number below the word, and with a string
const NUMBERS = 5; // largest number of words with a number
const HIDING = 4; // F from which a word counts as forgotten: e^-4 = 1.8% of its weight is left
const MASK_UNIT = 16; // the mask arrives as round(16 * F)

/** Returns the weight of a byte. */
export const weightOf = byte => (byte / STEPS) ** 2;

/** Returns (query, key) -> whether the causal mask hides the cell; every query sees the sink, the last column. */
export const hiddenCells =
  ({ causal, sink = false, columns }) =>
  (i, j) =>
    causal && j > i && !(sink && j === columns - 1);

/** Returns a function (row, column) -> byte of head `index` among the tiles of a kind; undefined in an empty cell. */
export function tileBytes({ packed, causal, has_sink: sink, side: [rows, columns] }, data, index) {
  const size = packed ? (rows * (rows + 1)) / 2 : rows * columns;
  const place = cellIndex(packed, columns);
  const hidden = hiddenCells({ causal, sink, columns });
  return (i, j) => (hidden(i, j) ? undefined : data[index * size + place(i, j)]);
}

/** Returns a head's weights from a query to all keys, as Float64Array; null if the payload has no row of this query. */
export function headRow({ kinds, arrays, look, tokens }, kindName, layer, head, query) {
  const kind = kinds.find(each => each.kind === kindName);
  const count = tokens[kind.keys].length;
  const index = layer * kind.heads + head;
  const rows = arrays[`rows.${kindName}`];
  if (!kind.exact) {
    if (query !== look || !rows) return null;
    const size = rows.shape[2];
    return Float64Array.from({ length: count }, (_, j) => (j < size ? weightOf(rows.data[index * size + j]) : 0));
  }
  const byte = tileBytes(kind, arrays[`tiles.${kindName}`].data, index);
  return Float64Array.from({ length: count }, (_, j) => weightOf(byte(query, j) ?? 0) * (kind.most ?? 1));
}

/** Returns weights in which a 1 beside other weights is just below 1: both have the same byte. */
export const belowOne = row => (row.some(w => w > 0 && w < 1) ? row.map(w => (w === 1 ? 0.999 : w)) : row);

/** Returns {row, used}: the mean attention from a query, weighted by gates, or the plain mean if all are pruned. */
export function selectedRow(data, states, { kind, layer, head, scope }, query) {
  const heads = states.flatMap((row, l) =>
    row.map(({ gate }, h) => ({ l, h, gate })).filter(each => includes(scope, each, layer, head)),
  );
  const used = heads.some(({ gate }) => gate > 0);
  const counted = used ? heads.filter(({ gate }) => gate > 0) : heads;
  const sum = counted.reduce((total, { gate }) => total + (used ? gate : 1), 0);
  let mean = null;
  for (const { l, h, gate } of counted) {
    const row = headRow(data, kind, l, h, query);
    if (!row) return { row: null, used };
    mean ??= new Float64Array(row.length);
    for (let j = 0; j < row.length; j += 1) mean[j] += (row[j] * (used ? gate : 1)) / sum;
  }
  return { row: mean && belowOne(mean), used };
}

const includes = (scope, { l, h }, layer, head) =>
  scope === 'all' || (scope === 'row' ? l === layer : scope === 'column' ? h === head : l === layer && h === head);

/** Returns the positions with a number below the word, strongest first. */
export const numberedWords = row =>
  Array.from(row.keys())
    .filter(j => row[j] >= NUMBERED)
    .sort((a, b) => row[b] - row[a] || a - b)
    .slice(0, NUMBERS);

/** Returns the number of words of a layer's mask row that are forgotten, without the words of `special`. */
export const hiddenWords = (mask, layer, count) =>
  Array.from({ length: count }, (_, j) => j).filter(j => mask.data[layer * mask.shape[1] + j] >= HIDING * MASK_UNIT);

/** Returns {layer, hidden, count} of the layer that forgets most words before the looking word; null if none does. */
export function mostForgetful(mask, count) {
  if (!mask) return null;
  const hidden = Array.from({ length: mask.shape[0] }, (_, layer) => hiddenWords(mask, layer, count).length);
  const most = Math.max(...hidden);
  return most ? { layer: hidden.indexOf(most), hidden: most, count } : null;
}
