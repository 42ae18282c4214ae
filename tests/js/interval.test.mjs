// Tests of the scale of the small plots of the page Findings.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { intervalScale } from '../../components/core/figure/interval.js';

test('all values are inside the scale, in their order and in proportion', () => {
  const { at } = intervalScale([0, 54.4, 52.3, 56.5, -9.2, 9.2]);
  const places = [-9.2, 0, 9.2, 52.3, 54.4, 56.5].map(at);
  assert.deepEqual(
    [...places],
    places.toSorted((a, b) => a - b),
  );
  assert.ok(places[0] > 0.02 && places.at(-1) < 0.98);
  assert.ok(Math.abs(places[2] - places[1] - (places[1] - places[0])) < 1e-3);
});

test('ticks are few round numbers inside the scale, with a typographic minus sign', () => {
  const { at, ticks } = intervalScale([0, -1.881, 0.686, 2]);
  assert.deepEqual(
    ticks.map(({ text }) => text),
    ['−2', '0', '2'],
  );
  assert.ok(ticks.every(tick => tick.at >= 0 && tick.at <= 1));
  assert.equal(ticks.find(({ text }) => text === '0').at, at(0));
});

test('a single value is in the middle of its scale', () => {
  assert.equal(intervalScale([3]).at(3), 0.5);
  assert.equal(intervalScale([0, 0]).at(0), 0.5);
});
