// Tests of components/core/texts.js: lookup of translations and insertion of values.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { pageData } from '../../components/core/page_data.js';
import { _, N_, setLanguage, stateQuery } from '../../components/core/texts.js';

beforeEach(() => {
  pageData.texts = { zh: { Undo: '撤销', '{a} and {b}': '{b}和{a}' } };
  setLanguage('en');
});

test('a text is looked up when it is shown, and English where there is none', () => {
  assert.equal(_('Undo'), 'Undo');
  assert.equal(N_('Undo'), 'Undo');
});

test('another language', () => {
  setLanguage('zh');
  assert.equal(_('Undo'), '撤销');
  assert.equal(_('Redo'), 'Redo');
  assert.equal(_('constructor'), 'constructor');
});

test('values are inserted literally, once', () => {
  for (const [language, expected] of [
    ['en', '{b} and $&'],
    ['zh', '$&和{b}'],
  ]) {
    setLanguage(language);
    assert.equal(_('{a} and {b}', { a: '{b}', b: '$&' }), expected);
  }
  assert.equal(_('{missing} {toString}'), '{missing} {toString}');
});

test('the query of a link keeps the language', () => {
  assert.equal(stateQuery({ lesson: 'constant.3' }), '?lesson=constant.3');
  setLanguage('zh');
  assert.equal(stateQuery({ model: 'stories softmax' }), '?model=stories+softmax&lang=zh');
});
