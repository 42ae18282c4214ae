// Loads files of components/ as the library does: each in a scope of its own, with `lab`, the namespace they share.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import vm from 'node:vm';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const COMPONENTS = process.env.COMPONENTS ?? join(ROOT, 'components');
const FIXTURES = process.env.FIXTURES ?? join(ROOT, 'runs', 'fixtures');

/** A library of the given files only, in their order, after what all of them may use. Errors name the file and its line. */
export function load(...files) {
  const lab = { colours: JSON.parse(readFileSync(join(ROOT, 'assets', 'colours.json'), 'utf8')) };
  for (const file of new Set(['core/texts.js', ...files])) {
    const filename = join(COMPONENTS, file);
    vm.runInThisContext(`'use strict'; (lab => {${readFileSync(filename, 'utf8')}})`, { filename })(lab);
  }
  return lab;
}

/** What `python -m tests.js` has written: JSON by name. */
export const fixture = name => JSON.parse(readFileSync(join(FIXTURES, `${name}.json`), 'utf8'));

export const bytes = name => new Uint8Array(readFileSync(join(FIXTURES, `${name}.bin`)));

/** Fails if two numbers, or two rows of them, differ by more than float32 does. */
export function close(actual, expected, tolerance = 1e-5) {
  const [a, b] = [actual, expected].map(value => (typeof value === 'number' ? [value] : Array.from(value)));
  if (a.length !== b.length) throw new Error(`${a.length} numbers, expected ${b.length}`);
  a.forEach((value, index) => {
    if (!(Math.abs(value - b[index]) <= tolerance * Math.max(1, Math.abs(b[index]))))
      throw new Error(`number ${index}: ${value}, expected ${b[index]}`);
  });
}
