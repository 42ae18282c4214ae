// core/texts.js: what is said in which language.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from './harness.mjs';

function lab() {
  const lab = load('core/texts.js');
  lab.texts = { zh: { Undo: '撤销', '{a} and {b}': '{b}和{a}' } };
  return lab;
}

test('a text is looked up when it is shown, and English where there is none', () => {
  const { _, N_ } = lab();
  assert.equal(_('Undo'), 'Undo');
  assert.equal(N_('Undo'), 'Undo');
});

test('another language', () => {
  const it = lab();
  it.language = 'zh';
  assert.equal(it._('Undo'), '撤销');
  assert.equal(it._('Redo'), 'Redo');
  assert.equal(it._('constructor'), 'constructor');
});

test('values are put in as they are, once', () => {
  const it = lab();
  for (const [language, expected] of [
    ['en', '{b} and $&'],
    ['zh', '$&和{b}'],
  ]) {
    it.language = language;
    assert.equal(it._('{a} and {b}', { a: '{b}', b: '$&' }), expected);
  }
  assert.equal(it._('{missing} {toString}'), '{missing} {toString}');
});

test('an address keeps the language', () => {
  const it = lab();
  assert.equal(it.address({ lesson: 'constant.3' }), '?lesson=constant.3');
  it.language = 'zh';
  assert.equal(it.address({ model: 'stories softmax' }), '?model=stories+softmax&lang=zh');
});
