// Tests of the page Training: the picture of a moment, the strongest head, and the slider over the moments.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  curveScale,
  momentOfKey,
  nearestMoment,
  pictureData,
  strongestHead,
} from '../../components/core/stage/training.js';
import { currentView } from '../../components/core/stage/view.js';
import { headRow } from '../../components/core/stage/weights.js';
import { close } from './harness.mjs';

const N = 3;
const CELLS = (N * (N + 1)) / 2;
const rows = value => [255, 90, 200, 10, value, 30]; // the looking word's row is 10, value, 30

/** Returns a payload of one layer with two heads and two moments; head h gives word 1 the byte 50 h + 20 m. */
function payload() {
  const block = { kind: 'self', layers: 1, heads: 2, causal: true, packed: true, exact: true, side: [N, N] };
  const kinds = [{ ...block, queries: 'text', keys: 'text', constant: [[false, false]], gates: [[1, 1]] }];
  const moment = {
    answer: { rows: [{ label: 'b', before: 0.7, after: 0.7, right: true }] },
    guesses: { token: 'b', chance: [0.1, 0.7] },
    heads: [[0.5, -1]],
    mlps: [3],
  };
  const data = [0, 1].flatMap(m => [...rows(20 * m), ...rows(50 + 20 * m)]);
  return {
    picture: { tokens: { text: ['start', 'a', 'b'] }, kinds },
    moments: [moment, moment],
    arrays: { patterns: { data: Uint8Array.from(data), shape: [2, 2 * CELLS] } },
  };
}

test('the picture of a moment has its patterns, answer, guesses and contributions', () => {
  const data = { ...pictureData(payload(), 1), look: 2 };
  close(headRow(data, 'self', 0, 1, 2)[1], (70 / 255) ** 2, 1e-9);
  close(headRow(data, 'self', 0, 0, 2)[1], (20 / 255) ** 2, 1e-9);
  assert.equal(data.answer.rows[0].label, 'b');
  assert.deepEqual(data.guesses.chance, [0.1, 0.7]);
  assert.deepEqual(Array.from(data.arrays['stubs.self'].data), [0.5, -1]);
  assert.deepEqual(Array.from(data.arrays['stubs.mlp'].data), [3]);
});

test('a press on a tile shows its state before Python answers', () => {
  const selection = { kind: 'self', layer: 0, head: 1, scope: 'head' };
  const data = { ...pictureData(payload(), 0), selection, marks: {} };
  const { heads } = currentView(data, [{ type: 'heads', ...selection, constant: true, gate: 1 }]);
  assert.deepEqual(
    heads.self[0].map(({ constant }) => constant),
    [false, true],
  );
});

test('the selected head is the one that pushes most directly for the answer', () => {
  const heads = [
    [0.5, -1],
    [0.1, 0.7],
  ];
  assert.deepEqual(strongestHead({ heads }), { kind: 'self', layer: 1, head: 1, scope: 'head' });
});

test('the slider goes to the nearest moment, and keys go from moment to moment', () => {
  const curve = [
    [0, 0.1],
    [40, 0.6],
    [100, 0.99],
  ];
  assert.deepEqual(
    [0, 19, 21, 71, 100].map(step => nearestMoment(curve, step)),
    [0, 0, 1, 2, 2],
  );
  assert.deepEqual(
    ['ArrowLeft', 'ArrowRight', 'Home', 'End', 'x'].map(key => momentOfKey(key, 1, 3)),
    [0, 2, 0, 2, undefined],
  );
  assert.deepEqual([momentOfKey('ArrowLeft', 0, 3), momentOfKey('ArrowUp', 2, 3)], [0, 2]);
});

test('the curve begins where the slider begins and ends where it ends', () => {
  const { x, y } = curveScale({ left: 46, right: 146, top: 10, bottom: 110 }, 1500);
  assert.deepEqual([x(0), x(1500), y(0), y(1), y(0.5)], [46, 146, 110, 10, 60]);
});
