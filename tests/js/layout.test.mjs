import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  cellAt,
  gridStep,
  labelledTokens,
  labelSize,
  mapLayout,
  mapStep,
  tileSide,
  tipPosition,
} from '../../components/core/attention/layout.js';

const never = () => false;
const future = (i, j) => j > i;
const SHAPES = [
  [1, 1],
  [6, 6],
  [5, 9],
  [40, 12],
  [512, 512],
];

for (const [rows, columns] of SHAPES)
  for (const [width, ratio] of [
    [330, 2],
    [520, 1],
    [900, 1.5],
  ])
    test(`${rows} x ${columns} on ${width} px: the cell under a point is the one drawn there`, () => {
      const size = mapLayout(width, ratio, rows, columns);
      assert.ok(size.x >= size.left && size.x + size.right <= width && size.y + size.bottom <= size.height);
      const some = count => [0, 1, count >> 1, count - 1].filter(i => i >= 0 && i < count);
      for (const i of some(rows))
        for (const j of some(columns))
          for (const part of [0.02, 0.5, 0.98]) {
            const [px, py] = [size.x + (j + part) * size.cell, size.y + (i + part) * size.cell];
            assert.deepEqual(cellAt(size, px, py, never), [i, j]);
            assert.deepEqual(cellAt(size, px, py, future), j > i ? null : [i, j]);
          }
      const { x, y, right, bottom } = size;
      for (const [px, py] of [
        [x - 1, y + 1],
        [x + 1, y - 1],
        [x + right + 1, y + 1],
        [x + 1, y + bottom + 1],
      ])
        assert.equal(cellAt(size, px, py, never), null);
    });

test('cells are as large as both sides allow', () => {
  assert.equal(mapLayout(900, 1, 2, 8).cell, 50);
  assert.equal(mapLayout(900, 1, 8, 2).cell, 50);
  assert.equal(mapLayout(900, 1, 1, 1).cell, 100);
});

test('where there is less height the plot is smaller, and never too small to be seen', () => {
  const height = room => mapLayout(900, 1, 20, 20, room).height;
  assert.equal(height(900), 466);
  assert.equal(height(400), 400);
  assert.equal(height(100), 286);
  // this map is smaller than the limit, so the limit changes nothing
  assert.equal(mapLayout(200, 1, 20, 20, 100).height, mapLayout(200, 1, 20, 20).height);
});

test('arrow keys walk through queries and keys, and stay inside', () => {
  const step = (at, key, causal = false) => mapStep(at, key, 4, 6, causal ? future : never);
  assert.deepEqual(step(null, 'ArrowUp'), [3, 0]);
  assert.deepEqual(step([1, 1], 'ArrowUp'), [0, 1]);
  assert.deepEqual(step([1, 1], 'ArrowDown'), [2, 1]);
  assert.deepEqual(step([1, 1], 'ArrowLeft'), [1, 0]);
  assert.deepEqual(step([1, 1], 'ArrowRight'), [1, 2]);
  assert.deepEqual(step([0, 0], 'ArrowUp'), [0, 0]);
  assert.deepEqual(step([3, 5], 'ArrowRight'), [3, 5]);
  assert.deepEqual(step([2, 3], 'Home'), [2, 0]);
  assert.deepEqual(step([2, 3], 'End'), [2, 5]);
  assert.equal(step([2, 3], 'Escape'), null);
  assert.equal(step([2, 3], 'c'), undefined);
  assert.equal(step([2, 3], 'toString'), undefined);
  assert.deepEqual(step([2, 2], 'ArrowRight', true), [2, 2]);
  assert.deepEqual(step([2, 2], 'ArrowUp', true), [1, 1]);
  // past the diagonal there is only the sink, in the last column
  const sunk = (at, key) => mapStep(at, key, 4, 5, (i, j) => j > i && j < 4);
  assert.deepEqual(sunk([1, 1], 'ArrowRight'), [1, 4]);
  assert.deepEqual(sunk([1, 4], 'ArrowLeft'), [1, 1]);
  assert.deepEqual(sunk([1, 4], 'ArrowUp'), [0, 4]);
  assert.deepEqual(sunk([2, 2], 'ArrowUp'), [1, 1]);
});

const GRIDS = [
  { layers: 2, heads: 3 },
  { layers: 4, heads: 1 },
  { layers: 1, heads: 5 },
];
const walk = (grid, row, column, key, control) => {
  const next = gridStep(GRIDS, { grid, row, column }, key, control);
  return next && [next.grid, next.row, next.column];
};

test('arrow keys walk within a grid, its headers included', () => {
  assert.deepEqual(walk(0, 1, 1, 'ArrowDown'), [0, 2, 1]);
  assert.deepEqual(walk(0, 1, 1, 'ArrowUp'), [0, 0, 1]);
  assert.deepEqual(walk(0, 1, 1, 'ArrowLeft'), [0, 1, 0]);
  assert.deepEqual(walk(0, 1, 2, 'ArrowRight'), [0, 1, 3]);
  assert.deepEqual(walk(0, 2, 2, 'Home'), [0, 2, 1]);
  assert.deepEqual(walk(0, 1, 1, 'End'), [0, 1, 3]);
  assert.deepEqual(walk(0, 2, 2, 'Home', true), [0, 1, 1]);
  assert.deepEqual(walk(0, 1, 1, 'End', true), [0, 2, 3]);
});

test('arrow keys lead over the edge to the next grid and stop at the last', () => {
  assert.deepEqual(walk(0, 2, 3, 'ArrowDown'), [1, 1, 1]);
  assert.deepEqual(walk(0, 2, 3, 'ArrowRight'), [1, 2, 1]);
  assert.deepEqual(walk(1, 4, 1, 'ArrowRight'), [2, 1, 1]);
  assert.deepEqual(walk(1, 0, 1, 'ArrowUp'), [0, 2, 1]);
  assert.deepEqual(walk(1, 3, 0, 'ArrowLeft'), [0, 2, 3]);
  assert.deepEqual(walk(2, 0, 5, 'ArrowUp'), [1, 4, 1]);
  assert.equal(walk(2, 1, 5, 'ArrowRight'), null);
  assert.equal(walk(2, 1, 5, 'ArrowDown'), null);
  assert.equal(walk(0, 0, 1, 'ArrowUp'), null);
  assert.equal(walk(0, 1, 0, 'ArrowLeft'), null);
});

test('every tile is reached by arrow keys from the first', () => {
  const seen = new Set();
  let at = { grid: 0, row: 1, column: 1 };
  const visit = ({ grid, row, column }) => seen.add(`${grid} ${row} ${column}`);
  for (let count = 0; at && count < 100; count += 1) {
    const { grid } = at;
    for (let row = 1; row <= GRIDS[grid].layers; row += 1)
      for (let cell = { grid, row, column: 1 }; cell?.grid === grid; ) {
        visit(cell);
        cell = gridStep(GRIDS, cell, 'ArrowRight');
      }
    at = gridStep(GRIDS, { grid, row: GRIDS[grid].layers, column: 1 }, 'ArrowDown');
  }
  assert.equal(seen.size, 2 * 3 + 4 + 5);
});

test('tiles of many layers are smaller, and never too small to press', () => {
  assert.equal(tileSide([{ layers: 4 }], 400), 96);
  assert.equal(tileSide([{ layers: 12 }], 400), 400 / 12);
  assert.equal(tileSide([{ layers: 2 }, { layers: 1 }, { layers: 2 }], 400), (400 - 2 * 66) / 5);
  assert.equal(tileSide([{ layers: 12 }, { layers: 12 }], 400), 26);
});

test('a tip is below its word, or above it without room below, and always in the window', () => {
  const screen = { width: 400, height: 300 };
  const size = { width: 100, height: 50 };
  const word = (left, top) => ({ left, top, bottom: top + 20, width: 40 });
  assert.deepEqual(tipPosition(word(150, 100), size, screen), { left: 120, top: 126 });
  assert.deepEqual(tipPosition(word(150, 270), size, screen), { left: 120, top: 214 });
  assert.deepEqual(tipPosition(word(0, 100), size, screen), { left: 6, top: 126 });
  assert.deepEqual(tipPosition(word(380, 100), size, screen), { left: 294, top: 126 });
  assert.equal(tipPosition(word(150, 20), { width: 100, height: 280 }, screen).top, 6);
});

test('the token of a prediction always has a label, and labels keep their distance', () => {
  const places = (...its) => labelledTokens(...its).flatMap((isLabelled, j) => (isLabelled ? [j] : []));
  assert.deepEqual(places(4, 1, [2]), [0, 1, 2, 3]);
  assert.deepEqual(places(8, 2, []), [0, 2, 4, 6]);
  assert.deepEqual(places(8, 2, [3]), [0, 3, 6]);
  assert.deepEqual(places(8, 2, [7, 6]), [0, 2, 4, 7]); // the sink before the last token
  for (const every of [1, 2, 3, 5])
    for (let always = 0; always < 26; always += 1) {
      const found = places(26, every, [always]);
      assert.ok(found.includes(always));
      assert.ok(found.every((place, i) => i === 0 || place - found[i - 1] >= every));
    }
});

test('labels become smaller before one is left out, in px of the screen', () => {
  assert.deepEqual(labelSize(30, 13), { every: 1, size: 13 });
  assert.deepEqual(labelSize(12, 13), { every: 1, size: 11 });
  assert.deepEqual(labelSize(8, 13), { every: 2, size: 13 });
  // large type at 1280 px: 19 tokens have 18 px of the screen each, and none is left out
  const { every, size } = labelSize(11.25, 15, 1.6);
  assert.equal(every, 1);
  assert.ok(size * 1.6 >= 16 && size < 11.25);
  // nor of 26 tokens, which have 13.5 px each
  assert.equal(labelSize(8.46, 15, 1.6).every, 1);
});
