// core/texts.js: what is said in which language.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from './harness.mjs';

function lab() {
  const lab = load('core/texts.js');
  lab.texts = { zh: { Undo: '撤销', '{a} and {b}': '{b}和{a}', '{n} token': ['{n} 个词元'] } };
  return lab;
}

test('a text is looked up when it is shown, and English where there is none', () => {
  const { _, N_, ngettext } = lab();
  assert.equal(_('Undo'), 'Undo');
  assert.equal(N_('Undo'), 'Undo');
  assert.deepEqual([0, 1, 2].map(n => ngettext('{n} token', '{n} tokens', n)), ['0 tokens', '1 token', '2 tokens']);
});

test('another language', () => {
  const it = lab();
  it.language = 'zh';
  assert.equal(it._('Undo'), '撤销');
  assert.equal(it._('Redo'), 'Redo');
  assert.equal(it._('constructor'), 'constructor');
  assert.deepEqual([1, 2].map(n => it.ngettext('{n} token', '{n} tokens', n)), ['1 个词元', '2 个词元']);
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
