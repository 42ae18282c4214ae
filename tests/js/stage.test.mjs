// Tests of the Lab's picture: weights, view and geometry (components/core/stage).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  answerRows,
  answerSize,
  bar,
  dotsPath,
  hasTick,
  lineWidth,
  logitUnit,
  nodeStringPath,
  stringPath,
  stringWidth,
  wordSize,
} from '../../components/core/stage/drawing.js';
import { currentView } from '../../components/core/stage/view.js';
import {
  headRow,
  hiddenWords,
  mostForgetful,
  numberedWords,
  selectedRow,
  tileBytes,
  weightOf,
} from '../../components/core/stage/weights.js';
import { close } from './harness.mjs';

const N = 4;
const byte = weight => Math.round(255 * Math.sqrt(weight));

/** Returns a payload with one causal block of 2 layers with 2 heads; head (l, h) looks at word h with weight 0.8. */
function payload(more = {}) {
  const weights = (_l, h, i, j) => (h > i ? (j === 0 ? 1 : 0) : j === h ? 0.8 : 0.2 / Math.max(1, i));
  const packed = [];
  for (const l of [0, 1])
    for (const h of [0, 1])
      for (let i = 0; i < N; i += 1) for (let j = 0; j <= i; j += 1) packed.push(byte(weights(l, h, i, j)));
  const kind = {
    kind: 'decoder',
    layers: 2,
    heads: 2,
    causal: true,
    packed: true,
    exact: true,
    side: [N, N],
    queries: 'text',
    keys: 'text',
    gates: [
      [1, 1],
      [0, 0.5],
    ],
    constant: [
      [false, false],
      [false, false],
    ],
  };
  return {
    kinds: [kind],
    tokens: { text: ['start', ' a', ' b', ' c'] },
    arrays: { 'tiles.decoder': { data: Uint8Array.from(packed), shape: [2, 2, 10] } },
    selection: { kind: 'decoder', layer: 0, head: 0, scope: 'head' },
    scale: { policy: 'trained', base: 64 },
    thing: 'head',
    look: 3,
    at: 3,
    predicts: [2, 3],
    marks: { contributions: false, guesses: false },
    ...more,
  };
}
const states = data => currentView(data, []).heads.decoder;
const at = (layer, head, scope) => ({ kind: 'decoder', layer, head, scope });

test('a byte is a weight, and the row of a head is read from its tile', () => {
  close(weightOf(255), 1);
  close(weightOf(byte(0.25)), 0.25, 5e-3);
  const row = headRow(payload(), 'decoder', 0, 1, 2);
  close(row, [0.1, 0.8, 0.1, 0], 5e-3);
  const halved = payload();
  halved.kinds[0].most = 0.5;
  close(headRow(halved, 'decoder', 0, 1, 2), [0.05, 0.4, 0.05, 0], 5e-3);
  assert.equal(tileBytes(payload().kinds[0], payload().arrays['tiles.decoder'].data, 0)(1, 2), undefined);
});

test('pooled tiles give no row, except that of the looking word', () => {
  const data = payload();
  data.kinds[0].exact = false;
  assert.equal(headRow(data, 'decoder', 0, 0, 3), null);
  data.arrays['rows.decoder'] = { data: Uint8Array.from({ length: 4 * N }, (_, i) => i), shape: [2, 2, N] };
  close(headRow(data, 'decoder', 1, 0, 3), [8, 9, 10, 11].map(weightOf));
  assert.equal(headRow(data, 'decoder', 1, 0, 2), null);
});

test('a square tile with a sink hides later words and has one column more than words', () => {
  const kind = { packed: false, causal: true, has_sink: true, side: [2, 3] };
  const cell = tileBytes(kind, Uint8Array.from([9, 9, 9, 9, 9, 9, 1, 2, 3, 4, 5, 6]), 1);
  assert.deepEqual(
    [0, 1].map(i => [0, 1, 2].map(j => cell(i, j))),
    [
      [1, undefined, 3],
      [4, 5, 6],
    ],
  );
});

test('the row of a layer is the mean weighted by the gates; that of pruned heads counts as not used', () => {
  const data = payload();
  const heads = states(data);
  const one = head => headRow(data, 'decoder', 1, head, 3);
  const layer = selectedRow(data, heads, at(1, 0, 'row'), 3);
  assert.equal(layer.used, true);
  close(layer.row, one(1)); // head 1 of layer 2 is pruned
  const all = selectedRow(data, heads, at(0, 0, 'all'), 3);
  const rows = [headRow(data, 'decoder', 0, 0, 3), headRow(data, 'decoder', 0, 1, 3)];
  close(
    all.row,
    Array.from(one(1), (weight, j) => (rows[0][j] + rows[1][j] + 0.5 * weight) / 2.5),
  );
  const pruned = selectedRow(data, heads, at(1, 0, 'head'), 3);
  assert.equal(pruned.used, false);
  close(pruned.row, one(0));
});

test('the five largest weights from 2% on have numbers', () => {
  assert.deepEqual(numberedWords([0.3, 0.019, 0.02, 0.3, 0.1, 0.05, 0.06, 0.04]), [0, 3, 4, 6, 5]);
});

test('a word is forgotten from F = 4 on, and the most forgetful layer is found', () => {
  const mask = { data: Uint8Array.from([63, 64, 0, 64, 200, 64]), shape: [2, 3] };
  assert.deepEqual(hiddenWords(mask, 0, 3), [1]);
  assert.deepEqual(mostForgetful(mask, 3), { layer: 1, hidden: 3, count: 3 });
  assert.deepEqual(mostForgetful(mask, 1), { layer: 1, hidden: 1, count: 1 });
  assert.equal(mostForgetful({ data: Uint8Array.from([1]), shape: [1, 1] }, 1), null);
  assert.equal(mostForgetful(undefined, 1), null);
});

test('events that wait change the view at once', () => {
  const data = payload();
  const now = currentView(data, [
    { type: 'select', ...at(1, 1, 'row') },
    { type: 'look', position: 1 },
    { type: 'prediction', index: 0 },
    { type: 'marks', contributions: true },
    { type: 'heads', ...at(0, 0, 'row'), gate: 0 },
  ]);
  assert.deepEqual([now.selection.layer, now.thing, now.look, now.at], [1, 'layer', 1, 2]);
  assert.deepEqual(now.marks, { contributions: true, guesses: false });
  assert.deepEqual(
    now.heads.decoder[0].map(({ gate }) => gate),
    [0, 0],
  );
  assert.deepEqual(data.marks, { contributions: false, guesses: false });
  assert.equal(currentView(data, [{ type: 'thing', thing: 'answer' }]).thing, 'answer');
});

test('bars of all contributions fit, for and against', () => {
  for (const [values, unit] of [
    [[1.8, -1], 16],
    [[-1.9], 8],
    [[3.8], 4],
    [[29], 1],
    [[], 16],
  ])
    assert.equal(logitUnit(values), unit);
  assert.equal(logitUnit([60]), 0.5);
  assert.deepEqual(bar(1.5, 16, 100), { y: 76, height: 24, against: false });
  assert.deepEqual(bar(-1.5, 16, 100), { y: 100, height: 24, against: true });
  assert.equal(bar(0.04, 16, 100), null);
  assert.deepEqual([hasTick(0, 0.1, 16), hasTick(1, 1.05, 16), hasTick(1, 0, 4)], [true, false, true]);
  assert.deepEqual([lineWidth(0), lineWidth(1)], [1.5, 14]);
  assert.deepEqual([stringWidth(0), stringWidth(0.5)], [1, 5]);
});

test('a string stays between its dot and its tile', () => {
  for (const x of [0, 300, 900]) {
    const numbers = stringPath({ x, y: 200 }, { x: 300, y: 170 }, 900)
      .match(/-?[\d.]+/g)
      .map(Number);
    const [xs, ys] = [0, 1].map(part => numbers.filter((_, index) => index % 2 === part));
    assert.equal(xs[0], x);
    assert.ok(Math.abs(xs.at(-1) - 300) <= 26);
    assert.ok(ys.every(y => y >= 170 && y <= 200));
  }
  assert.match(nodeStringPath({ x: 800, y: 160 }, { x: 300, y: 150 }, 900, 30), /^M795 160C774 186 /);
  assert.equal(dotsPath([{ x: 1.04, y: 2 }]), 'M1 2h.01');
});

test('words become smaller before they wrap', () => {
  assert.deepEqual(wordSize(10, 500, 1000), { size: 22, wraps: false });
  assert.deepEqual(wordSize(10, 1100, 1000), { size: 20, wraps: false });
  assert.deepEqual(wordSize(10, 1600, 1000), { size: 13.5, wraps: false });
  assert.deepEqual(wordSize(10, 1800, 1000), { size: 22, wraps: true });
  assert.deepEqual(wordSize(10, 1100, 1000, 22), { size: 22, wraps: true }); // large type
  assert.deepEqual(wordSize(40, 100, 1000), { size: 22, wraps: true });
});

test('a long answer is smaller, and the former answer stays among the rows', () => {
  for (const [text, size] of [
    ['ball', 66],
    ['friend', 66],
    ['x'.repeat(40), 34],
  ])
    assert.equal(answerSize(text), size);
  assert.ok(answerSize('x'.repeat(8)) < 50 && answerSize('LABEL_2') < answerSize('letters'));
  const rows = [0.1, 0.5, 0.2, 0.15, 0.04].map((after, id) => ({ id, after, before: id === 4 ? 0.9 : 0.01 }));
  const ids = (...given) => answerRows(rows, ...given).map(({ id }) => id);
  assert.deepEqual(ids(3, false), [1, 2, 3]);
  assert.deepEqual(ids(3, true), [1, 2, 4]);
  assert.deepEqual(answerRows([], 3, true), []);
});
