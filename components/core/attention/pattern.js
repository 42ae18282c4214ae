// The mathematics of what is shown: F from S, the weights that it leaves, differences, what a row comes to.

import { cellIndex } from '../payload.js';

/** F, (n + 1) rows of n: F[i, j] = sum of S[k, j] over k < i. Row n is what the next token would see. */
export function accumulateMask(selected, n) {
  const place = cellIndex(true);
  const mask = new Float32Array((n + 1) * n);
  for (let i = 0; i < n; i += 1) {
    for (let j = 0; j < n; j += 1) mask[(i + 1) * n + j] = mask[i * n + j] + (j <= i ? selected[place(i, j)] : 0);
  }
  return mask;
}

/** The part of e^score that `mask`, an entry of F, takes away. */
export const maskedShare = mask => 1 - Math.exp(-mask);

/** The weights of query t: softmax(scores - F) over the keys up to t; without F if `mask` is null. */
export function patternRow(scores, mask, n, t) {
  const place = cellIndex(true);
  const logits = Array.from({ length: t + 1 }, (_, j) => scores[place(t, j)] - (mask ? mask[t * n + j] : 0));
  const most = Math.max(...logits);
  const powers = logits.map(logit => Math.exp(logit - most));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map(power => power / sum);
}

/** The names of the views that a head's payload allows. */
export const availableViews = ({ arrays }) => [
  'used',
  'live',
  ...(arrays.constant ? ['constant', 'difference'] : []),
  ...(arrays.selected && arrays.scores ? ['mask'] : []),
];

/** (query, key) -> the number that a view of a head shows there. */
export function cellValues({ arrays, used, causal, columns }, view) {
  const place = cellIndex(causal, columns.length);
  if (view === 'difference') return (i, j) => arrays.constant.data[place(i, j)] - arrays.live.data[place(i, j)];
  const { data } = arrays[view === 'used' ? used : view];
  return (i, j) => data[place(i, j)];
}

const largest = numbers => numbers.reduce((most, value) => Math.max(most, value), 0);

/** What takes a head's strongest colour: 1 where rows are distributions, else its largest weight. */
export const largestWeight = ({ arrays, distribution }) =>
  Math.max(distribution ? 1 : 1e-9, ...['live', 'constant', 'used'].map(name => largest(arrays[name]?.data ?? [])));

/** {sum, entropy (nats), most (ln of the number of keys)} of the row of a query that sees `count` keys. */
export function rowStatistics(value, i, count) {
  let [sum, entropy] = [0, 0];
  for (let j = 0; j < count; j += 1) {
    const weight = value(i, j);
    sum += weight;
    if (weight > 0) entropy -= weight * Math.log(weight);
  }
  return { sum, entropy, most: Math.log(count) };
}
