// Axes of charts: scales from values to px, ticks, numbers, and labels that do not overlap.

import { textWidth } from '../picture/svg.js';

/** Returns about `count` round values from `low` to `high`: steps of 1, 2 or 5 times a power of ten. */
export function roundTicks(low, high, count) {
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find(factor => factor * power >= rough * 0.999) ?? 10);
  const ticks = [];
  for (let tick = Math.ceil(low / step - 1e-9); tick * step <= high + 1e-9 * step; tick += 1)
    ticks.push(Number((tick * step).toPrecision(12)));
  return ticks;
}

/** Returns round values from `low` to `high` for a bent axis: 0 and, from `bend` up, two of each power of ten. */
export function bentTicks(low, high, bend) {
  const ticks = low <= 0 ? [0] : [];
  for (let power = 10 ** Math.floor(Math.log10(bend)); power <= high; power *= 10)
    for (const factor of [1, 3])
      if (factor * power >= Math.max(low, bend) && factor * power <= high)
        ticks.push(Number((factor * power).toPrecision(2)));
  return ticks;
}

/** Returns {low, high} of the values, with a small margin; `zero` begins at 0. Equal values get a margin too. */
export function extent(values, zero = false) {
  const [least, most] = [Math.min(...values, ...(zero ? [0] : [])), Math.max(...values)];
  const air = (most - least || Math.abs(most) || 1) * 0.06;
  return { low: zero && least >= 0 ? 0 : least - air, high: most + air };
}

/**
 * Returns a function value -> px. `kind`: linear; log2; bent, linear up to `bend` and logarithmic above; or band, in
 * which the given values have equal distances.
 * @param {number[]} values all values of the axis, of which a band is made
 */
export function createAxis(kind, values, from, to, domain = null, bend = 1) {
  const sorted = [...new Set(values)].sort((a, b) => a - b);
  if (kind === 'band') {
    const step = (to - from) / Math.max(1, sorted.length - 1);
    return value => (sorted.length === 1 ? (from + to) / 2 : from + sorted.indexOf(value) * step);
  }
  const bent = value => Math.sign(value) * Math.log1p(Math.abs(value) / bend);
  const map = kind === 'log2' ? Math.log2 : kind === 'bent' ? bent : value => value;
  const [low, high] = [domain?.low ?? sorted[0], domain?.high ?? sorted.at(-1)].map(map);
  return value => (high === low ? (from + to) / 2 : from + ((map(value) - low) / (high - low)) * (to - from));
}

/** Returns the ticks that have room, in order: the last one is kept, and no two labels touch. */
export function thinTicks(ticks, place, label, size = 12) {
  const kept = [];
  for (const tick of [...ticks].reverse()) {
    const half = textWidth(label(tick), size) / 2;
    const next = kept.at(-1);
    if (!next || place(tick) + half + 8 <= place(next) - textWidth(label(next), size) / 2) kept.push(tick);
  }
  return kept.reverse();
}

/** Returns a value as text: four decimals, or a share in percent. */
export const formatValue = (value, percent = false) =>
  (percent ? `${Number((100 * value).toFixed(1))}%` : String(Number(value.toPrecision(4)))).replaceAll('-', '−');

/**
 * Returns the positions of labels in px, as near to `wanted` as possible, at least `apart` px from each other, in
 * order.
 */
export function spreadLabels(wanted, apart, low, high) {
  const order = wanted.map((_, index) => index).sort((a, b) => wanted[a] - wanted[b]);
  const places = order.map(index => Math.min(high, Math.max(low, wanted[index])));
  for (let i = 1; i < places.length; i += 1) places[i] = Math.max(places[i], places[i - 1] + apart);
  let most = Math.max(high, low + apart * (places.length - 1));
  for (let i = places.length - 1; i >= 0; i -= 1, most -= apart) places[i] = Math.min(places[i], most);
  const result = [];
  order.forEach((index, i) => {
    result[index] = places[i];
  });
  return result;
}

/** Returns how much of a box the lines of a plot cross, sampled at points 3 px apart. */
const crossing = ([left, top, right, bottom], marks) =>
  marks
    .flatMap(({ points }) => points.slice(1).map((to, i) => [points[i], to]))
    .reduce((count, [from, to]) => {
      const steps = Math.max(1, Math.ceil(Math.hypot(to.x - from.x, to.y - from.y) / 3));
      for (let step = 0; step <= steps; step += 1) {
        const [x, y] = ['x', 'y'].map(its => from[its] + (step / steps) * (to[its] - from[its]));
        if (x > left && x < right && y > top && y < bottom) count += 1;
      }
      return count;
    }, 0);

/**
 * Returns the position [left, base] for a text in a plot's box that its lines cross least and where nothing is `taken`;
 * adds the text's box to `taken`.
 * @returns {[number, number]}
 */
export function freestPosition(text, size, places, box, marks, taken) {
  const wide = textWidth(text, size);
  const cost = ([left, base]) => {
    const [top, right, bottom] = [base - size, left + wide, base + 3];
    const meets = taken.filter(([l, t, r, b]) => left < r && l < right && top < b && t < bottom).length;
    const leaves =
      left < box.x - 2 || right > box.x + box.width + 2 || top < box.y - 4 || bottom > box.y + box.height + 2;
    return crossing([left - 2, top, right + 2, bottom], marks) + 1000 * (meets + leaves);
  };
  const [left, base] = places.reduce((best, place) => (cost(place) < cost(best) ? place : best));
  taken.push([left, base - size, left + wide, base + 3]);
  return [left, base];
}
