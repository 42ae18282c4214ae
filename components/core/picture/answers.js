// Pictures and tables of sorted bars, for download.

import { hexColour } from '../attention/scales.js';
import { formatNumber } from '../format.js';
import { PAPER, textWidth, toPx } from './svg.js';

const ROW = 24; // px
const BAR = 320; // length in px of the longest bar
const SIZE = 13;

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
