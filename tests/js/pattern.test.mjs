import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  accumulateMask,
  availableViews,
  cellValues,
  gateOpacity,
  hiddenCells,
  largestWeight,
  maskedShare,
  patternRow,
  rowStatistics,
  seenKeys,
} from '../../components/core/attention/pattern.js';
import { close, fixture } from './harness.mjs';

const selective = fixture('selective');
const { n } = selective;

test('F is the sum of earlier selections, as in the model', () => {
  close(accumulateMask(selective.selected, n), selective.F);
});

test('F masks the fraction 1 - exp(-F)', () => {
  close(selective.F.map(maskedShare), selective.taken);
});

test('the weights of a query with and without F', () => {
  const mask = accumulateMask(selective.selected, n);
  for (let t = 0; t < n; t += 1) {
    close(patternRow(selective.scores, null, n, t), selective.plain[t].slice(0, t + 1));
    close(patternRow(selective.scores, mask, n, t), selective.masked[t].slice(0, t + 1));
  }
});

for (const [name, head] of Object.entries(fixture('head'))) {
  const arrays = Object.fromEntries(Object.entries(head.arrays).map(([key, data]) => [key, { data }]));
  const data = { arrays, used: 'used', causal: head.causal, columns: Array(head.columns).fill('') };
  const each = check => {
    for (let i = 0; i < head.rows; i += 1)
      for (let j = 0; j < (head.causal ? i + 1 : head.columns); j += 1) check(i, j);
  };

  test(`${name}: each view shows its numbers`, () => {
    for (const view of ['used', 'live', 'difference']) {
      const value = cellValues(data, view);
      each((i, j) => close(value(i, j), head[view][i][j]));
    }
  });

  test(`${name}: the change by a plan is the gated pattern minus the baseline's`, () => {
    const value = cellValues({ ...data, base: 'live', gate: 0.25 }, 'change');
    each((i, j) => close(value(i, j), 0.25 * head.used[i][j] - head.live[i][j]));
  });

  test(`${name}: used weights are whichever array the payload names`, () => {
    const value = cellValues({ ...data, used: 'live' }, 'used');
    each((i, j) => close(value(i, j), head.live[i][j]));
  });

  test(`${name}: a row's sum and entropy`, () => {
    for (let i = 0; i < head.rows; i += 1) {
      const count = head.causal ? i + 1 : head.columns;
      close(rowStatistics(cellValues(data, 'used'), i, count).sum, head.sums[i]);
      const row = rowStatistics(cellValues(data, 'live'), i, count);
      close(row.entropy, head.entropies[i]);
      close(row.most, Math.log(count));
    }
  });

  test(`${name}: the scale ends at 1, or at the largest weight`, () => {
    assert.equal(largestWeight({ arrays, distribution: true }), 1);
    close(largestWeight({ arrays, distribution: false }), head.most);
  });
}

test('a gate fades the pattern in proportion, and a pruned head shows no pattern', () => {
  assert.equal(gateOpacity(1), 1);
  close(gateOpacity(0.5), (gateOpacity(0.25) + gateOpacity(0.75)) / 2);
  assert.ok(gateOpacity(0.05) > 0.1 && gateOpacity(0.05) < 0.4); // the pattern of a small gate stays legible
  assert.equal(gateOpacity(0), 0);
});

test('a view exists only with its data', () => {
  const some = { data: [] };
  assert.deepEqual(availableViews({ arrays: { live: some } }), ['used', 'live']);
  assert.deepEqual(availableViews({ arrays: { live: some }, changed: true }), ['used', 'live', 'change']);
  assert.deepEqual(availableViews({ arrays: { live: some, constant: some } }), [
    'used',
    'live',
    'constant',
    'difference',
  ]);
  assert.deepEqual(availableViews({ arrays: { live: some, selected: some, scores: some } }), ['used', 'live', 'mask']);
});

test('the sink is the last column of a causal map, which every query sees', () => {
  const columns = ['a', 'b', 'c', 'sink'];
  const map = { causal: true, sink: true, columns };
  const hidden = hiddenCells(map);
  const seen = [0, 1, 2].map(i => columns.filter((_, j) => !hidden(i, j)).join(' '));
  assert.deepEqual(seen, ['a sink', 'a b sink', 'a b c sink']);
  assert.ok(hiddenCells({ ...map, sink: false })(0, 3));
  assert.ok(!hiddenCells({ ...map, columns: 4 })(0, 3));
  const weights = [0.75, 0, 0, 0.25, 0.5, 0.25, 0, 0.25, 0.25, 0.25, 0.25, 0.25];
  const data = { ...map, arrays: { live: { data: weights } }, used: 'live' };
  const value = cellValues(data, 'live');
  for (const i of [0, 1, 2]) {
    const row = seenKeys(data, value, i);
    const { sum, most } = rowStatistics(row.value, i, row.count);
    close([sum, most], [1, Math.log(i + 2)]);
  }
});
