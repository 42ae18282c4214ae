// Mathematics of attention patterns: the selective mask F from the scores S, masked weights, differences, sum and
// entropy of a row.

import { cellIndex } from '../payload.js';

/** Returns F, (n + 1) rows of n: F[i, j] = sum of S[k, j] over k < i. Row n is the mask of the next token. */
export function accumulateMask(selected, n) {
  const place = cellIndex(true);
  const mask = new Float32Array((n + 1) * n);
  for (let i = 0; i < n; i += 1) {
    for (let j = 0; j < n; j += 1) mask[(i + 1) * n + j] = mask[i * n + j] + (j <= i ? selected[place(i, j)] : 0);
  }
  return mask;
}

/** Returns the fraction of e^score that `mask`, an entry of F, removes: 1 - e^-F. */
export const maskedShare = mask => 1 - Math.exp(-mask);

/** Returns the attention weights of query t: softmax(scores - F) over the keys up to t; without F if `mask` is null. */
export function patternRow(scores, mask, n, t) {
  const place = cellIndex(true);
  const logits = Array.from({ length: t + 1 }, (_, j) => scores[place(t, j)] - (mask ? mask[t * n + j] : 0));
  const most = Math.max(...logits);
  const powers = logits.map(logit => Math.exp(logit - most));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map(power => power / sum);
}

const LEAST_OPACITY = 0.22; // opacity for the smallest gates: faded, but visible

/** Returns the opacity of the pattern of a head with this gate; the pattern of a pruned head (gate 0) is not shown. */
export const gateOpacity = gate => (gate === 0 ? 0 : LEAST_OPACITY + (1 - LEAST_OPACITY) * gate);

/** Returns the names of the views for which a head's payload has numbers. */
export const availableViews = ({ arrays, changed }) => [
  'used',
  'live',
  ...(changed ? ['change'] : []),
  ...(arrays.constant ? ['constant', 'difference'] : []),
  ...(arrays.selected && arrays.scores ? ['mask'] : []),
];

/** Returns whether a view shows signed differences. */
export const isDifference = view => view === 'difference' || view === 'change';

/**
 * Returns a function (query, key) -> whether the causal mask hides the cell. The last column of a map with a `sink` is
 * the attention sink, which every query sees.
 * @param {{causal: boolean, sink?: boolean, columns: number | any[]}} map a map of the payload, or a grid
 */
export function hiddenCells({ causal, sink, columns }) {
  const last = (Array.isArray(columns) ? columns.length : columns) - 1;
  return (i, j) => causal && j > i && !(sink && j === last);
}

/** Returns (query, key) -> value of a view of a head. `change`: the pattern after the plan times the gate, minus the
 * pattern of the unmodified model, which is the array that `base` names. */
export function cellValues({ arrays, used, causal, sink, columns, base, gate }, view) {
  const place = cellIndex(causal && !sink, columns.length);
  if (view === 'change') return (i, j) => gate * arrays[used].data[place(i, j)] - arrays[base].data[place(i, j)];
  if (view === 'difference') return (i, j) => arrays.constant.data[place(i, j)] - arrays.live.data[place(i, j)];
  const { data } = arrays[view === 'used' ? used : view]; // `view` may also be the name of an array
  return (i, j) => data[place(i, j)];
}

const largest = numbers => numbers.reduce((most, value) => Math.max(most, value), 0);

/** Returns the weight with the strongest colour: 1 if rows are distributions, else the head's largest weight. */
export const largestWeight = ({ arrays, distribution }) =>
  Math.max(
    distribution ? 1 : 1e-9,
    ...['live', 'constant', 'used', 'base'].map(name => largest(arrays[name]?.data ?? [])),
  );

/**
 * Returns {value, count}: `value` is a function (query, index) -> value of one of the `count` keys that query `i` sees.
 */
export function seenKeys(map, value, i) {
  const { causal, sink, columns } = map;
  if (!causal) return { value, count: columns.length };
  const last = columns.length - 1;
  return sink ? { value: (q, j) => value(q, j > q ? last : j), count: i + 2 } : { value, count: i + 1 };
}

/** Returns {sum, entropy (nats), most (ln count)} of the row of a query that attends to `count` keys. */
export function rowStatistics(value, i, count) {
  let [sum, entropy] = [0, 0];
  for (let j = 0; j < count; j += 1) {
    const weight = value(i, j);
    sum += weight;
    if (weight > 0) entropy -= weight * Math.log(weight);
  }
  return { sum, entropy, most: Math.log(count) };
}
