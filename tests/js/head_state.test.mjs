import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  boxedHeads,
  clampSelection,
  headsOf,
  inScope,
  keyChange,
  pendingState,
  pressedState,
  scopeName,
  selectedStates,
  someHeads,
  stateName,
  toggledHead,
} from '../../components/core/head_state.js';

const grid = (kind, layers, heads, more = {}) => ({
  kind,
  layers,
  heads,
  constant: Array.from({ length: layers }, () => Array(heads).fill(false)),
  gates: Array.from({ length: layers }, () => Array(heads).fill(1)),
  ...more,
});
const DATA = {
  grids: [grid('encoder', 2, 3), grid('cross', 1, 2, { gates: [[1, 0.5]], constant: [[true, false]] })],
  selection: { kind: 'encoder', layer: 0, head: 0, scope: 'head' },
  scale: { policy: 'trained', base: 64 },
};
const heads = (kind, layer, head, scope, change) => ({ type: 'heads', kind, layer, head, scope, ...change });
/** Returns the addresses of the heads for which `test` holds. */
const where = (now, test) =>
  Object.entries(now.heads).flatMap(([kind, rows]) =>
    rows.flatMap((row, l) => row.flatMap((state, h) => (test(state) ? [`${kind} ${l} ${h}`] : []))),
  );

test('without events the grids show what Python sent', () => {
  const now = pendingState(DATA, []);
  assert.deepEqual(now.heads.cross, [
    [
      { constant: true, gate: 1, closed: false, patched: false, touched: false },
      { constant: false, gate: 0.5, closed: false, patched: false, touched: false },
    ],
  ]);
  assert.deepEqual([now.selection, now.scale], [DATA.selection, DATA.scale]);
  assert.deepEqual(
    where(now, s => s.touched),
    [],
  );
});

test('waiting events act on the heads of their kind and scope, in order', () => {
  const all = ['encoder 0 0', 'encoder 0 1', 'encoder 0 2', 'encoder 1 0', 'encoder 1 1', 'encoder 1 2'];
  for (const [scope, expected] of [
    ['head', ['encoder 1 2']],
    ['row', all.slice(3)],
    ['column', [all[2], all[5]]],
    ['all', all],
  ]) {
    const now = pendingState(DATA, [heads('encoder', 1, 2, scope, { gate: 0 })]);
    assert.deepEqual(
      where(now, s => s.gate === 0),
      expected,
      scope,
    );
    assert.deepEqual(
      where(now, s => s.touched),
      expected,
      scope,
    );
  }
  const now = pendingState(DATA, [
    heads('cross', 0, 0, 'all', { gate: 0.2, constant: false }),
    heads('cross', 0, 1, 'head', { gate: 0.9 }),
    heads('gone', 0, 0, 'all', { gate: 0 }),
  ]);
  assert.deepEqual(
    now.heads.cross[0].map(({ gate, constant }) => [gate, constant]),
    [
      [0.2, false],
      [0.9, false],
    ],
  );
});

test("Python's payload is left as it was", () => {
  const before = JSON.stringify(DATA);
  pendingState(DATA, [heads('encoder', 0, 0, 'all', { gate: 0, constant: true })]);
  assert.equal(JSON.stringify(DATA), before);
});

test('selection and scale are those of the last event', () => {
  const select = { type: 'select', kind: 'cross', layer: 0, head: 1, scope: 'all', sequence: 3 };
  const now = pendingState(DATA, [select, { type: 'scale', policy: 'logn', base: 9, sequence: 4 }]);
  assert.deepEqual(now.selection, { kind: 'cross', layer: 0, head: 1, scope: 'all' });
  assert.deepEqual(now.scale, { policy: 'logn', base: 9 });
  assert.equal(selectedStates(now).length, 2);
});

test('a head that the model has closed stays closed, and is not among those that change', () => {
  const closed = [
    [true, false, true],
    [false, false, false],
  ];
  const gates = [
    [0, 1, 0],
    [1, 1, 1],
  ];
  const selection = { kind: 'encoder', layer: 0, head: 0, scope: 'row' };
  const data = { ...DATA, grids: [grid('encoder', 2, 3, { closed, gates })], selection };
  const now = pendingState(data, [heads('encoder', 0, 0, 'all', { gate: 1, constant: true })]);
  assert.deepEqual(
    where(now, s => s.gate === 0 && !s.constant && !s.touched),
    ['encoder 0 0', 'encoder 0 2'],
  );
  assert.deepEqual(selectedStates(now), [{ constant: true, gate: 1, closed: false, patched: false, touched: true }]);
  assert.deepEqual(selectedStates({ ...now, selection: { ...selection, scope: 'head' } }), []);
});

test('an address includes the attention block', () => {
  const at = { kind: 'cross', layer: 0, head: 1 };
  for (const scope of ['head', 'row', 'column', 'all']) {
    assert.ok(inScope({ ...at, scope }, 'cross', 0, 1), scope);
    assert.ok(!inScope({ ...at, scope }, 'encoder', 0, 1), scope);
  }
});

test('a state has a name', () => {
  assert.equal(stateName(false, 1), 'live');
  assert.equal(stateName(true, 1), 'constant');
  assert.equal(stateName(true, 0), 'pruned');
  assert.equal(stateName(true, 0.4), 'constant, gate 0.40');
  assert.equal(stateName(false, 1, true), 'patched');
  assert.equal(stateName(false, 0.4, true), 'gate 0.40, patched');
  assert.equal(stateName(true, 0, true), 'pruned');
});

test('keys change what is selected', () => {
  const state = (constant, gate) => ({ constant, gate });
  const live = [state(false, 1)];
  assert.deepEqual(keyChange('c', live), { constant: true });
  assert.deepEqual(keyChange('C', [state(true, 1)]), { constant: false });
  assert.deepEqual(keyChange('c', [state(true, 1), state(false, 1)]), { constant: true });
  assert.equal(keyChange('c', live, false), null);
  assert.deepEqual(keyChange('p', live), { gate: 0 });
  assert.deepEqual(keyChange('p', [state(false, 0)]), { gate: 1 });
  assert.deepEqual(keyChange('p', [state(false, 0), state(false, 0.5)]), { gate: 0 });
  assert.deepEqual(keyChange('r', [state(true, 0)]), { constant: false, gate: 1 });
  assert.deepEqual(keyChange('-', live), { gate: 0.9 });
  assert.deepEqual(keyChange('+', [state(false, 0.3)]), { gate: 0.4 });
  assert.deepEqual(keyChange('=', [state(false, 0.95)]), { gate: 1 });
  assert.deepEqual(keyChange('-', [state(false, 0.05)]), { gate: 0 });
  assert.equal(keyChange('x', live), null);
  assert.equal(keyChange('c', []), null);
});

test('a button is pressed for all, no or some heads', () => {
  assert.equal(
    pressedState([1, 1], x => x),
    'true',
  );
  assert.equal(
    pressedState([0, 1], x => x),
    'mixed',
  );
  assert.equal(
    pressedState([0, 0], x => x),
    'false',
  );
});

test('a selection outside the grid becomes the nearest one', () => {
  const fit = (kind, layer, head) => clampSelection({ kind, layer, head, scope: 'row' }, DATA.grids);
  assert.deepEqual(fit('cross', 5, 9), { kind: 'cross', layer: 0, head: 1, scope: 'row' });
  assert.deepEqual(fit('gone', 0, 1), { kind: 'encoder', layer: 0, head: 1, scope: 'row' });
  assert.deepEqual(fit('encoder', -1, 2), { kind: 'encoder', layer: 0, head: 2, scope: 'row' });
});

test('a selection has a name, counted from 1', () => {
  const at = { layer: 1, head: 2 };
  assert.equal(scopeName({ ...at, scope: 'head' }), 'Layer 2, head 3');
  assert.equal(scopeName({ ...at, scope: 'row' }), 'Layer 2, all heads');
  assert.equal(scopeName({ ...at, scope: 'column' }), 'Head 3, all layers');
  assert.equal(scopeName({ ...at, scope: 'all' }, 'Cross-attention'), 'Cross-attention · All heads');
});

test('heads are added one by one, removed, and selected as a box', () => {
  const grid = { kind: 'self', layers: 3, heads: 4 };
  const one = { kind: 'self', layer: 1, head: 2, scope: 'head' };
  const two = toggledHead(one, grid, 0, 3);
  assert.deepEqual(two, { ...one, scope: 'and.0.3' });
  assert.deepEqual(headsOf(two, grid), [
    [1, 2],
    [0, 3],
  ]);
  assert.ok(inScope(two, 'self', 0, 3) && inScope(two, 'self', 1, 2) && !inScope(two, 'self', 1, 3));
  assert.ok(!inScope(two, 'cross', 0, 3));
  assert.deepEqual(toggledHead(two, grid, 0, 3), one);
  assert.deepEqual(toggledHead(two, grid, 1, 2), { ...one, layer: 0, head: 3 }); // removes the displayed head
  assert.deepEqual(toggledHead(one, grid, 1, 2), one); // the last selected head stays
  const row = toggledHead({ ...one, scope: 'row' }, grid, 1, 0);
  assert.deepEqual(headsOf(row, grid), [
    [1, 2],
    [1, 1],
    [1, 3],
  ]);
  assert.deepEqual(headsOf(boxedHeads('self', [1, 2], [2, 1]), grid), [
    [1, 2],
    [1, 1],
    [2, 1],
    [2, 2],
  ]);
  assert.equal(scopeName(two), '2 heads, layer 2, head 3 shown');
  assert.equal(someHeads('self', [[0, 1]]).scope, 'head');
});
