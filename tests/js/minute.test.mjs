// Tests of components/lab/minute.js: the steps of the first minute wait, and end with what they ask for.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { momentOf, progressed, STEPS } from '../../components/lab/minute.js';

const layers = pruned =>
  [0, 1].map(layer => [0, 1].map(head => ({ gate: pruned.includes(`${layer}.${head}`) ? 0 : 1 })));

/** Returns the moment of a Lab with two layers of two heads. */
const moment = ({ pruned = [], look = 5, at = [0, 0], scope = 'head', tool = 'head.looks', text = 'a b' } = {}) =>
  momentOf(
    { text, tool: { key: tool } },
    { look, selection: { kind: 'self', layer: at[0], head: at[1], scope }, heads: { self: layers(pruned) } },
  );

const START = {};
// what a visitor does in each step; each line is the Lab after it
const WALK = [
  { look: 3 },
  { look: 3, at: [1, 1] },
  { look: 3, at: [1, 1], tool: 'head.why' },
  { look: 3, at: [1, 1], tool: 'head.why', pruned: ['1.1'] },
  { look: 3, at: [1, 1], tool: 'head.why', pruned: ['1.0', '1.1'], scope: 'row' },
  { look: 3, at: [1, 1], tool: 'head.why', scope: 'row' },
  { look: 3, at: [1, 1], tool: 'head.why', scope: 'row', text: 'c' },
];

test('each step waits, and only its own action ends it', () => {
  let progress = { step: 0, before: moment(START) };
  for (const [step, after] of WALK.entries()) {
    assert.deepEqual(progressed(progress, progress.before), progress); // nothing happened
    const next = progressed(progress, moment(after));
    assert.equal(next.step, step + 1);
    assert.deepEqual(next.before, moment(after));
    progress = next;
  }
  assert.equal(progress.step, STEPS.length);
  assert.deepEqual(progressed(progress, moment({ text: 'd', look: 1 })), progress); // it is over
});

test('actions of other steps do not end a step', () => {
  const changes = [{ look: 4 }, { at: [1, 0] }, { tool: 'head.why' }, { pruned: ['1.0'] }, {}, {}, { text: 'z' }];
  for (const step of [0, 1, 2, 3, 6])
    for (const [other, change] of changes.entries()) {
      const { step: reached } = progressed({ step, before: moment() }, moment(change));
      assert.equal(reached, step === other ? step + 1 : step, `${step} ${other}`);
    }
});

test('a pruned head, one head of a layer, and a part of the changes undone are not enough', () => {
  const step = (number, before, after) => progressed({ step: number, before: moment(before) }, moment(after)).step;
  assert.equal(step(1, { pruned: ['1.0'] }, { pruned: ['1.0'], at: [1, 0] }), 1);
  assert.equal(step(1, {}, { at: [1, 0], scope: 'row' }), 1);
  assert.equal(step(4, {}, { pruned: ['1.0'] }), 4);
  assert.equal(step(4, { pruned: ['0.0', '0.1'] }, { pruned: ['0.0', '0.1'] }), 4); // a layer was pruned before
  assert.equal(step(5, { pruned: ['1.0', '1.1'] }, { pruned: ['1.0'] }), 5);
});

test('a step has at most 25 words', () => {
  for (const { ask, says = '' } of STEPS) assert.ok(`${ask} ${says}`.split(' ').length <= 25);
});

test('a layer is pruned after its name is pressed', () => {
  const { find } = STEPS[4];
  assert.deepEqual(find(moment({ at: [1, 0] })), ['.layer-name[data-layer="1"]']);
  assert.deepEqual(find(moment({ at: [1, 0], scope: 'row' })), STEPS[3].find(moment()));
});
