<<<<<<< HEAD
// Tests of the Lab's keys (components/core/stage/keys.js).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyOf } from '../../components/core/stage/keys.js';

test('keys keep their place on keyboards without Latin letters', () => {
  assert.equal(keyOf({ key: 'P', code: 'KeyP' }), 'p');
  assert.equal(keyOf({ key: 'з', code: 'KeyP' }), 'p');
  assert.equal(keyOf({ key: 'с', code: 'KeyC' }), 'c'); // a Cyrillic letter
  assert.equal(keyOf({ key: 'r', code: 'KeyO' }), 'r'); // Dvorak: the written letter counts
  assert.equal(keyOf({ key: '.', code: 'Slash' }), '.');
  assert.equal(keyOf({ key: ',', code: 'Slash', shiftKey: true }), ',');
  assert.equal(keyOf({ key: 'ж', code: 'Slash', shiftKey: true }), '?');
  assert.equal(keyOf({ key: 'Escape', code: 'Escape' }), 'escape');
  assert.equal(keyOf({ key: 'ö', code: 'Semicolon' }), 'ö');
=======
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { letterOf } from '../../components/core/keys.js';

test('a key without a Latin letter is the letter of a US keyboard', () => {
  assert.equal(letterOf({ key: 'з', code: 'KeyP' }), 'p');
  assert.equal(letterOf({ key: 'Process', code: 'KeyC' }), 'c');
  assert.equal(letterOf({ key: 'Я', code: 'KeyZ' }), 'z');
});

test('a Latin letter is the one that is printed on the key', () => {
  assert.equal(letterOf({ key: 'Z', code: 'KeyY' }), 'z'); // a German keyboard
  assert.equal(letterOf({ key: '+', code: 'BracketRight' }), '+');
  assert.equal(letterOf({ key: 'ArrowUp', code: 'ArrowUp' }), 'arrowup');
  assert.equal(letterOf({}), undefined); // events of autofill have no key
>>>>>>> c54c37fb (wip)
});
