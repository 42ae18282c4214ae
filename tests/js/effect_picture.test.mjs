// Tests of components/core/picture/effect.js: the picture and the table for download of the effect panel.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { effectPicture, effectTable } from '../../components/core/picture/effect.js';
import './harness.mjs';

const ROWS = [
  { label: ' cat', before: 0.5, after: 0.25, right: true },
  { label: ' dog', before: 0.125, after: 0.5, right: false },
];
const bars = ({ nodes }) => nodes.filter(([tag]) => tag === 'rect').map(([, { width, y }]) => [Number(width), y]);
const words = ({ nodes }) => nodes.filter(([tag]) => tag === 'text').map(([, , text]) => text);

test('a row has a bar before and after, as wide as its probability', () => {
  const facts = [{ name: 'Loss', text: '2.1 → 2.3', verdict: { text: 'worse' } }];
  const drawn = effectPicture({ rows: ROWS }, facts, true);
  assert.deepEqual(bars(drawn), [
    [160, 4],
    [80, 15],
    [40, 38],
    [160, 49],
  ]);
  assert.ok(words(drawn)[0].includes('✓') && !words(drawn)[2].includes('✓'));
  assert.equal(words(drawn).at(-1), 'Loss 2.1 → 2.3 worse');
  assert.equal(drawn.height, 2 * 34 + 32 + 20);
});

test('without a change there is one bar per row', () => {
  assert.deepEqual(bars(effectPicture({ rows: ROWS }, [], false)), [
    [80, 9],
    [160, 43],
  ]);
  assert.deepEqual(effectPicture(undefined, [], false).nodes, []);
});

test('the table has probabilities, divergences, the loss of the text and of each token', () => {
  const { columns, rows } = effectTable({
    predictions: [{ title: 'next', rows: ROWS, kl: 0.75, known: true }],
    tokens: [
      { token: 'a', before: 1, after: 2 },
      { token: 'b', before: null, after: 3 },
      { token: 'c', before: 1, after: null },
    ],
    strip: null,
    before: 4,
    after: 5,
  });
  assert.equal(columns.length, 6);
  assert.deepEqual(
    rows.map(row => row.slice(2)),
    [
      [' cat', 0.5, 0.25, 1],
      [' dog', 0.125, 0.5, 0],
      ['', 0, 0.75, ''],
      ['', 4, 5, ''],
      ['a', 1, 2, ''],
      ['b', '', 3, ''],
    ],
  );
});
