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
});
