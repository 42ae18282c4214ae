// Helpers for the tests: the colours of the app, the fixtures written by Python, and a comparison of numbers.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pageData } from '../../components/core/page_data.js';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const FIXTURES = process.env.FIXTURES ?? join(ROOT, 'runs', 'fixtures');

pageData.colours = JSON.parse(readFileSync(join(ROOT, 'assets', 'colours.json'), 'utf8'));

/** Reads the fixture with this name, which `python -m tests.js` has written. */
export const fixture = name => JSON.parse(readFileSync(join(FIXTURES, `${name}.json`), 'utf8'));

export const bytes = name => new Uint8Array(readFileSync(join(FIXTURES, `${name}.bin`)));

/** Fails if two numbers, or two lists of numbers, differ by more than the rounding error of float32. */
export function close(actual, expected, tolerance = 1e-5) {
  const [a, b] = [actual, expected].map(value => (typeof value === 'number' ? [value] : Array.from(value)));
  if (a.length !== b.length) throw new Error(`${a.length} numbers, expected ${b.length}`);
  a.forEach((value, index) => {
    if (!(Math.abs(value - b[index]) <= tolerance * Math.max(1, Math.abs(b[index]))))
      throw new Error(`number ${index}: ${value}, expected ${b[index]}`);
  });
}
