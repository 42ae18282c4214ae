// Tests of components/core/lesson_text.js: the texts of a lesson step, and the keys that open the next step.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { choiceMarks, lessonAnswer, lessonKey, splitStarred, taskText } from '../../components/core/lesson_text.js';

test('text between stars is the name of a control', () => {
  assert.deepEqual(splitStarred('Press *Prune*, then *P*.'), [
    { text: 'Press ', isName: false },
    { text: 'Prune', isName: true },
    { text: ', then ', isName: false },
    { text: 'P', isName: true },
    { text: '.', isName: false },
  ]);
  assert.deepEqual(splitStarred('*R*'), [{ text: 'R', isName: true }]);
});

test('a task names keys only where there is a keyboard', () => {
  assert.equal(taskText('Prune it[ (P)]. Undo it[ (Z)].', true), 'Prune it (P). Undo it (Z).');
  assert.equal(taskText('Prune it[ (P)]. Undo it[ (Z)].', false), 'Prune it. Undo it.');
});

const question = { choices: ['1', '2', '3'], chosen: null, right: null };
const marks = (its, waiting) => choiceMarks({ ...question, ...its }, waiting).map(({ mark }) => mark);

test('the right answer is not marked before an answer', () => {
  assert.deepEqual(marks({}), ['', '', '']);
  assert.deepEqual(marks({}, 1), ['', 'chosen', '']);
});

test('once answered, the right choice is marked, and a wrong one that was chosen', () => {
  assert.deepEqual(marks({ chosen: 0, right: 2 }), ['wrong', '', 'right']);
  assert.deepEqual(marks({ chosen: 2, right: 2 }), ['', '', 'right']);
  assert.deepEqual(marks({ chosen: null, right: 1 }), ['', 'right', '']);
});

test('a wrong answer that may be corrected is marked, and the right one is not', () => {
  assert.deepEqual(marks({ chosen: 0, again: true }), ['wrong', '', '']);
  assert.deepEqual(marks({ chosen: 0, again: true }, 2), ['', '', 'chosen']);
});

const key = (name, isOwn, held = {}) => lessonKey({ key: name, ...held }, isOwn);

test('Page Down leads on in the panel, elsewhere only with Shift, and never with another key', () => {
  assert.equal(key('PageDown', true), 'forth');
  assert.equal(key('PageUp', true), 'back');
  assert.equal(key('PageDown', false), null);
  assert.equal(key('PageDown', false, { shiftKey: true }), 'forth');
  assert.equal(key('PageDown', true, { ctrlKey: true }), null);
  assert.equal(key('n', true), null);
});

test('the answer on its way is the last one', () => {
  assert.equal(lessonAnswer([{ type: 'teach', on: true }]), null);
  assert.equal(lessonAnswer([{ type: 'answer', choice: 1 }, { type: 'step' }]).choice, 1);
});
