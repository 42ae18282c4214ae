// The scale of the small plots of the page Findings.

import { axisTicks } from '../stage/tools.js';

const MARGIN = 0.05; // share of the scale that stays free at each end
const TICKS = 4;

/** Returns {at(value), ticks} of a scale that contains all values; `at` and a tick's `at` are places from 0 to 1. */
export function intervalScale(values) {
  const [least, largest] = [Math.min(...values), Math.max(...values)];
  const free = (largest - least || Math.abs(largest) || 1) * MARGIN;
  const [low, high] = [least - free, largest + free];
  const at = value => Number(((value - low) / (high - low)).toFixed(4));
  const ticks = axisTicks(low, high, TICKS).map(value => ({ at: at(value), text: String(value).replace('-', '−') }));
  return { at, ticks };
}
