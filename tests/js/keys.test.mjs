import assert from 'node:assert/strict';
import { test } from 'node:test';
import { letterOf } from '../../components/core/keys.js';

test('a key without a Latin letter is the one of a US keyboard at its place', () => {
  assert.equal(letterOf({ key: 'з', code: 'KeyP' }), 'p');
  assert.equal(letterOf({ key: 'с', code: 'KeyC' }), 'c'); // a Cyrillic letter
  assert.equal(letterOf({ key: 'Process', code: 'KeyC' }), 'c');
  assert.equal(letterOf({ key: 'Я', code: 'KeyZ' }), 'z');
  assert.equal(letterOf({ key: 'ж', code: 'Slash', shiftKey: true }), '?');
  assert.equal(letterOf({ key: 'ö', code: 'Semicolon' }), 'ö');
  assert.equal(letterOf({ key: 'х', code: 'BracketLeft' }), '['); // a Cyrillic letter
});

test('a Latin letter is the one that is printed on the key', () => {
  assert.equal(letterOf({ key: 'Z', code: 'KeyY' }), 'z'); // a German keyboard
  assert.equal(letterOf({ key: 'r', code: 'KeyO' }), 'r'); // Dvorak
  assert.equal(letterOf({ key: '+', code: 'BracketRight' }), '+');
  assert.equal(letterOf({ key: ',', code: 'Slash', shiftKey: true }), ',');
  assert.equal(letterOf({ key: 'ArrowUp', code: 'ArrowUp' }), 'arrowup');
  assert.equal(letterOf({}), undefined); // events of autofill have no key
});
