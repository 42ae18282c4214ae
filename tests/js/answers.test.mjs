// Tests of the pictures and tables of sorted bars.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { barScale, barsPicture, barsTable, barValue, sortedBars } from '../../components/core/picture/answers.js';
import './harness.mjs';

const texts = ({ nodes }) => nodes.filter(([name]) => name === 'text').map(node => node[2]);

const BARS = {
  unit: '%',
  bars: [
    { label: 'one', value: 3 },
    { label: 'two', value: -40 },
    { label: 'three', value: 12 },
  ],
};

test('bars are sorted by their size, without changing the data', () => {
  assert.deepEqual(
    sortedBars(BARS.bars).map(({ label }) => label),
    ['two', 'three', 'one'],
  );
  assert.equal(BARS.bars[0].label, 'one');
  assert.deepEqual(barsTable(BARS), {
    columns: ['part', '%'],
    rows: [
      ['two', -40],
      ['three', 12],
      ['one', 3],
    ],
  });
});

test('values have signs and units', () => {
  assert.equal(barValue(-40.4, '%'), '−40%');
  assert.equal(barValue(1.234, 'logit'), '+1.23');
});

test('the track reaches from the least to the largest value, and holds 0', () => {
  const { zero, part } = barScale(BARS.bars);
  assert.ok(Math.abs(part - 1 / 52) < 1e-9 && Math.abs(zero - 40 / 52) < 1e-9);
  assert.deepEqual(barScale([{ value: 4 }, { value: 1 }]), { zero: 0, part: 0.25 });
});

test('bars of the picture meet at 0, and their lengths are proportional to their values', () => {
  const picture = barsPicture(BARS);
  const [two, three, one] = picture.nodes
    .filter(([name]) => name === 'rect')
    .map(([, { x, width }]) => [x, width].map(Number));
  const near = (value, wanted) => assert.ok(Math.abs(value - wanted) < 0.1, `${value} is not ${wanted}`);
  near(two[1], (320 * 40) / 52);
  near(three[1], (320 * 12) / 52);
  near(one[1], (320 * 3) / 52);
  near(two[0] + two[1], three[0]);
  near(one[0], three[0]);
  assert.deepEqual(
    texts(picture).filter((_, i) => i % 2 === 0),
    ['two', 'three', 'one'],
  );
});
