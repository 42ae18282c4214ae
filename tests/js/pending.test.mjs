import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pendingState } from '../../components/core/head_state.js';
import { affectedPart, createRequests, fold } from '../../components/core/pending.js';

const heads = (kind, layer, head, change, scope = 'head') => ({ type: 'heads', kind, layer, head, scope, ...change });
const bare = ({ sequence, ...event }) => event;
/** Returns the events that still wait after these events were added. */
const folded = (...events) =>
  events.reduce((waiting, event, sequence) => fold(waiting, { ...event, sequence }), []).map(bare);

test('an event takes the place of an earlier one whose address and fields it covers', () => {
  const old = heads('self', 0, 1, { constant: true });
  assert.deepEqual(folded(old, heads('self', 0, 1, { constant: false })), [heads('self', 0, 1, { constant: false })]);
  for (const other of [
    heads('cross', 0, 1, { constant: false }),
    heads('self', 1, 1, { constant: false }),
    heads('self', 0, 0, { constant: false }),
    heads('self', 0, 1, { constant: false }, 'row'),
    heads('self', 0, 1, { gate: 0 }),
  ])
    assert.deepEqual(folded(old, other), [old, other]);
  const both = heads('self', 0, 1, { constant: false, gate: 1 });
  assert.deepEqual(folded(old, heads('self', 0, 1, { gate: 0.5 }), both), [both]);
});

test('the rest keeps its order', () => {
  const events = [0, 1, 2, 3].map(head => heads('self', 0, head, { constant: true }));
  const again = heads('self', 0, 1, { constant: false });
  assert.deepEqual(folded(...events, again), [events[0], events[2], events[3], again]);
});

test('steps of a drag are one event, and of select, look, prediction and scale there is one', () => {
  const drag = gate => heads('self', 0, 0, { gate, drag: true });
  assert.deepEqual(folded(drag(0.9), drag(0.8), drag(0.7)), [drag(0.7)]);
  for (const type of ['text', 'select', 'look', 'model', 'prediction', 'scale'])
    assert.deepEqual(folded({ type, n: 1 }, heads('self', 0, 0, { gate: 0 }), { type, n: 2 }), [
      heads('self', 0, 0, { gate: 0 }),
      { type, n: 2 },
    ]);
});

test('undo, redo and reset keep the events before them', () => {
  const undo = { type: 'undo' };
  assert.equal(folded(undo, undo, { type: 'redo' }, undo).length, 4);
  const [on, off] = [true, false].map(constant => heads('self', 0, 0, { constant }));
  assert.deepEqual(folded(on, undo, off), [on, undo, off]);
  assert.deepEqual(folded(on, undo, off, on), [on, undo, on]);
});

test('an event takes no place of an event of another component', () => {
  const [first, second] = ['map 0', 'map 1'].map(key => ({ key, type: 'look', position: 3 }));
  assert.deepEqual(folded(first, second, first), [second, first]);
  const [on, off] = [true, false].map(constant => heads('self', 0, 0, { constant }));
  assert.deepEqual(folded(on, { key: 'bar', type: 'undo' }, off).length, 3);
});

test('hundreds of heads wait together', () => {
  const events = Array.from({ length: 500 }, (_, i) => heads('self', i >> 4, i & 15, { constant: true }));
  assert.equal(folded(...events).length, 500);
});

test('folding events does not change the heads', () => {
  const grid = {
    kind: 'self',
    constant: [
      [false, false],
      [true, false],
    ],
    gates: [
      [1, 1],
      [0.5, 1],
    ],
  };
  let seed = 7;
  const random = count => (seed = (seed * 48271) % 2147483647) % count;
  for (let round = 0; round < 300; round += 1) {
    const events = Array.from({ length: 12 }, () => {
      const change = [
        { constant: true },
        { constant: false },
        { gate: 0 },
        { gate: 0.3 },
        { constant: false, gate: 1 },
      ];
      return heads('self', random(2), random(2), change[random(5)], ['head', 'row', 'column', 'all'][random(4)]);
    });
    const state = waiting => {
      const { heads: now } = pendingState({ grids: [grid], selection: {}, scale: {} }, waiting);
      return now.self.flat().map(({ constant, gate }) => [constant, gate]);
    };
    assert.deepEqual(state(folded(...events)), state(events));
  }
});

test('a response to an older request is older than the newest request', () => {
  const requests = createRequests();
  assert.equal(requests.newest(['numbers']), 0);
  requests.ask(5, affectedPart({ type: 'heads' }));
  requests.ask(6, affectedPart({ type: 'select' }));
  requests.ask(7, affectedPart({ type: 'look' }));
  assert.equal(requests.newest(['numbers']), 5);
  assert.equal(requests.newest(['numbers', 'selection']), 6);
  requests.answered(5);
  // the newest request stays known after its response, because other components compare with it
  assert.equal(requests.newest(['numbers']), 5);
  requests.ask(8, 'numbers');
  requests.answered(8);
  assert.equal(requests.newest(['numbers']), 8);
});

test('requests that never reach Python are not awaited', () => {
  const requests = createRequests();
  requests.ask(5, 'numbers');
  requests.answered(5);
  requests.ask(9, 'numbers');
  requests.withdraw([9]);
  assert.equal(requests.newest(['numbers']), 5);
  requests.ask(10, 'numbers');
  requests.ask(11, 'numbers');
  requests.restart(); // a new session, whose server has received no request
  assert.equal(requests.newest(['numbers']), 0);
});

test('which events change which numbers', () => {
  for (const type of ['text', 'heads', 'scale', 'undo', 'redo', 'reset', 'model'])
    assert.equal(affectedPart({ type }), 'numbers');
  assert.equal(affectedPart({ type: 'select' }), 'selection');
  for (const type of ['view', 'prediction', 'other']) assert.equal(affectedPart({ type }), null);
});
