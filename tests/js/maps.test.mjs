// Tests of downloaded maps: the picture has every cell and token, in the colours of the light theme.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hexColour, weightStep } from '../../components/core/attention/scales.js';
import { gridPicture, mapPicture, mapTable } from '../../components/core/picture/maps.js';
import { close, fixture } from './harness.mjs';

const flat = node => (typeof node === 'string' ? [] : [node, ...node.slice(2).flatMap(flat)]);
const all = (nodes, tag) => nodes.flatMap(flat).filter(([name]) => name === tag);
const cells = nodes => all(nodes, 'rect').filter(node => node[2]?.[0] === 'title');
const texts = nodes => all(nodes, 'text').map(node => node[2]);

const map = (rows, columns, causal, more = {}) => ({
  rows,
  columns,
  causal,
  value: (i, j) => (i + 1) / (10 * (j + 1)),
  most: 1,
  view: 'used',
  opacity: 1,
  pruned: false,
  ...more,
});

test('the map has each visible cell with colour, position and tooltip', () => {
  const { nodes } = mapPicture(map(['<s>', 'the', 'cat'], ['<s>', 'the', 'cat'], true));
  const found = cells(nodes);
  assert.equal(found.length, 6);
  const [, attributes, [, , words]] = found[3]; // the cell of query 3 and key 1
  assert.equal(words, 'query 3 “cat” → key 1 “<s>”: 0.3000');
  assert.equal(attributes.fill, hexColour(false, 'sequential', weightStep(0.3)));
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

test('differences have their own scale; a pruned head is crossed out', () => {
  const both = { value: (i, j) => j - i };
  const difference = mapPicture(map(['a', 'b'], ['a', 'b'], false, { ...both, view: 'difference' })).nodes;
  assert.equal(cells(difference)[1][1].fill, hexColour(false, 'diverging', 255));
  assert.ok(texts(difference).includes('constant weights are higher'));
  const pruned = mapPicture(map(['a'], ['a'], true, { pruned: true, opacity: 0 })).nodes;
  // a pruned head has two strokes, because a single stroke would look like the diagonal of a causal map
  assert.deepEqual(
    all(pruned, 'line').map(([, { y1, y2 }]) => Math.sign(y1 - y2)),
    [-1, 1],
  );
  assert.ok(all(pruned, 'g').some(([, { opacity }]) => opacity !== undefined && Number(opacity) === 0));
});

test('the table has every weight of the head', () => {
  const { causal } = fixture('head');
  const n = causal.rows;
  const value = (i, j) => causal.live[i][j];
  const tokens = Array.from({ length: n }, (_, i) => `t${i}`);
  const { columns, rows } = mapTable({ rows: tokens, columns: tokens, causal: true, value, name: 'live' });
  assert.deepEqual(columns, ['query', 'query token', 'key', 'key token', 'live']);
  close(
    rows.map(row => row[4]),
    causal.live.flatMap((row, i) => row.slice(0, i + 1)),
  );
  assert.deepEqual(rows[4], [3, 't2', 2, 't1', value(2, 1)]);
});

test('the grid has every cell and the state of every head', () => {
  const grid = {
    kind: 'self',
    title: 'Self',
    layers: 1,
    heads: 3,
    rows: 2,
    columns: 2,
    causal: true,
    constant: [[true, false, false]],
    gates: [[1, 0, 0.5]],
  };
  const tiles = Uint8Array.from([255, 7, 7, 0, 255, 255, 1, 2, 3]);
  const { nodes } = gridPicture([grid], () => tiles);
  const heads = nodes.flatMap(flat).filter(([tag, , first]) => tag === 'g' && first?.[0] === 'title');
  assert.deepEqual(
    heads.map(([, , [, , words]]) => words),
    ['layer 1, head 1, constant', 'layer 1, head 2, pruned', 'layer 1, head 3, gate 0.50'],
  );
  const paths = head => all([head], 'path').map(([, { d, fill }]) => [d, fill]);
  const colour = step => hexColour(false, 'sequential', step);
  assert.deepEqual(paths(heads[0]), [
    ['M0 0h1v1h-1z', colour(255)],
    ['M0 1h2v1h-2z', colour(7)],
  ]);
  assert.deepEqual(paths(heads[1]), [['M0 1h2v1h-2z', colour(255)]]);
  assert.equal(all([heads[1]], 'line').length, 2);
  assert.equal(all([heads[0]], 'text')[0][2], 'C');
});
