// Tests of downloaded maps: the picture has every cell and token, in the colours of the light theme.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hexColour, weightStep } from '../../components/core/attention/scales.js';
import { mapPicture, mapTable } from '../../components/core/picture/maps.js';
import './harness.mjs';

const flat = node => (typeof node === 'string' ? [] : [node, ...node.slice(2).flatMap(flat)]);
const all = (nodes, tag) => nodes.flatMap(flat).filter(([name]) => name === tag);
const cells = nodes => all(nodes, 'rect').filter(node => node[2]?.[0] === 'title');
const texts = nodes => all(nodes, 'text').map(node => node[2]);

const map = (rows, columns, causal, more = {}) => ({
  rows,
  columns,
  causal,
  value: (i, j) => (i + 1) / (10 * (j + 1)),
  pruned: false,
  ...more,
});

test('the map has each visible cell with colour, position and tooltip', () => {
  const { nodes } = mapPicture(map(['<s>', 'the', 'cat'], ['<s>', 'the', 'cat'], true));
  const found = cells(nodes);
  assert.equal(found.length, 6);
  const [, attributes, [, , words]] = found[3]; // the cell of query 3 and key 1
  assert.equal(words, 'query 3 “cat” → key 1 “<s>”: 0.3000');
  assert.equal(attributes.fill, hexColour(false, 'attention', weightStep(0.3)));
  assert.equal(attributes.y, 2 * attributes.height);
  assert.equal(attributes.x, 0);
  const cross = mapPicture(map(['a', 'b'], ['c', 'd', 'e'], false)).nodes;
  assert.equal(cells(cross).length, 6);
});

test('the map has a text for each token', () => {
  const tokens = Array.from({ length: 128 }, (_, i) => `w${i}`);
  const { nodes, width } = mapPicture(map(tokens, tokens, true));
  const shown = texts(nodes);
  for (const token of tokens) assert.equal(shown.filter(text => text === token).length, 2);
  assert.equal(cells(nodes).length, (128 * 129) / 2);
  assert.ok(width > 128 * 9);
});

test('a pruned head is crossed out', () => {
  const pruned = mapPicture(map(['a'], ['a'], true, { pruned: true })).nodes;
  // a pruned head has two strokes, because a single stroke would look like the diagonal of a causal map
  assert.deepEqual(
    all(pruned, 'line').map(([, { y1, y2 }]) => Math.sign(y1 - y2)),
    [-1, 1],
  );
});

test('the table has every weight of the head', () => {
  const tokens = ['t0', 't1', 't2'];
  const value = (i, j) => 10 * i + j;
  const { columns, rows } = mapTable({ rows: tokens, columns: tokens, causal: true, value, name: 'used' });
  assert.deepEqual(columns, ['query', 'query token', 'key', 'key token', 'used']);
  assert.deepEqual(
    rows.map(row => row[4]),
    [0, 10, 11, 20, 21, 22],
  );
  assert.deepEqual(rows[4], [3, 't2', 2, 't1', 21]);
  const sunk = mapTable({
    rows: ['a', 'b'],
    columns: ['a', 'b', 'sink'],
    causal: true,
    sink: true,
    value,
    name: 'used',
  });
  assert.deepEqual(
    sunk.rows.map(row => row[2]),
    [1, 'sink', 1, 2, 'sink'],
  );
});
