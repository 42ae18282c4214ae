// Tests of the files for download: predictions by layer, and bars.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  barScale,
  barsPicture,
  barsTable,
  barValue,
  lensCell,
  lensPicture,
  lensRow,
  lensTable,
  sortedBars,
} from '../../components/core/picture/answers.js';
import './harness.mjs';

// two rows (embedding, layer 1), three positions, the two most probable tokens per cell
const DATA = { tokens: ['a', 'b', 'c'], words: ['x', 'y', 'z', '<b>'], shape: [2, 3, 2] };
const IDS = [0, 1, 1, 2, 2, 3, 3, 0, 0, 2, 1, 3];
const PROBABILITIES = [0.9, 0.05, 0.6, 0.3, 0.5, 0.25, 0.8, 0.1, 0.7, 0.2, 0.4, 0.35];

const texts = ({ nodes }) => nodes.filter(([name]) => name === 'text').map(node => node[2]);

test('a cell has its own tokens', () => {
  assert.deepEqual(lensCell(DATA, IDS, PROBABILITIES, 1, 2), [
    { word: 'y', probability: 0.4 },
    { word: '<b>', probability: 0.35 },
  ]);
});

test('rows are the embedding and layers counted from 1', () => {
  assert.deepEqual([0, 1, 2].map(lensRow), ['embedding', 'layer 1', 'layer 2']);
});

test('the table has one row for each layer and position', () => {
  const { columns, rows } = lensTable(DATA, IDS, PROBABILITIES);
  assert.deepEqual(columns, ['layer', 'position', 'token 1', 'probability 1', 'token 2', 'probability 2']);
  assert.equal(rows.length, 6);
  assert.deepEqual(rows[3], [1, 'a', '<b>', 0.8, 'x', 0.1]);
});

test('the picture has a cell for each layer and position, darker for a higher probability', () => {
  const picture = lensPicture(DATA, IDS, PROBABILITIES);
  const cells = picture.nodes.filter(([name]) => name === 'rect');
  assert.equal(cells.length, 6);
  for (const [, { x, y, width, height }] of cells) {
    assert.ok(x >= 0 && x + width <= picture.width && y + height <= picture.height);
  }
  const light = ([, { fill }]) => Number.parseInt(fill.slice(1), 16);
  assert.ok(light(cells[0]) < light(cells[5])); // probability 0.9 is darker than 0.4
  const text = texts(picture).join('|');
  for (const word of ['embedding', 'layer 1', '<b>']) assert.ok(text.includes(word), word);
});

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
