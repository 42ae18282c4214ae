import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  flowsLeftward,
  isSpecialToken,
  joinsPrevious,
  nextWord,
  wordGaps,
  wordNames,
} from '../../components/core/attention/words.js';
import { pageData } from '../../components/core/page_data.js';
import { setLanguage } from '../../components/core/texts.js';

test('parts of one word stand together', () => {
  assert.deepEqual(wordGaps(['start', 'Once', ' up', 'on', ',']), [false, true, true, false, false]);
  assert.deepEqual(wordGaps(['[CLS]', 'play', '##ing', '.', '[SEP]']), [false, true, false, true, true]);
  assert.deepEqual(wordGaps(['start', 'x=', '1', 'x=?']), [false, true, true, true]);
  assert.deepEqual(wordGaps(['start', 'a', ' little', '[MASK]', '.']), [false, true, true, true, false]);
  assert.deepEqual(wordGaps([]), []);
});

test('a later piece of a word is named with dots', () => {
  assert.deepEqual(wordNames(['start', 'G', 'estern', ' war', '.']), ['start', 'G', '…estern', ' war', '.']);
  assert.deepEqual(wordNames(['start', 'x=', '1', 'x=?']), ['start', 'x=', '1', 'x=?']);
  assert.deepEqual(wordNames(['start', ' He', 'll', 'o', '2nd', ' 我', '想']), [
    'start',
    ' He',
    '…ll',
    '…o',
    '2nd',
    ' 我',
    '想',
  ]);
});

test('special tokens are distinguished from words', () => {
  const marks = tokens => tokens.filter((_, i) => isSpecialToken(tokens, i));
  assert.deepEqual(marks(['start', 'start', ' end', 'a', 'end']), ['start', 'end']);
  assert.deepEqual(marks(['[CLS]', 'a', '[MASK]', '[SEP]']), ['[CLS]', '[SEP]']);
  assert.deepEqual(marks(['<s>', 'a', 'b', '</s>']), ['<s>', '</s>']);
  assert.deepEqual(marks(['The', ' cat']), []);
  assert.deepEqual(marks(['[CLS]', 'the', 'end', '[SEP]']), ['[CLS]', '[SEP]']);
  pageData.texts = { zh: { start: '起始', end: '结束' } };
  setLanguage('zh');
  assert.deepEqual(marks(['起始', 'end', 'start', '结束']), ['起始', '结束']);
  setLanguage('en');
});

// positions of words in two lines: three words in the first line, two in the second
const BOXES = [10, 50, 90].map(x => ({ x, y: 0 })).concat([30, 95].map(x => ({ x, y: 40 })));

test('arrow keys move through the words in their layout', () => {
  const from = (at, ...keys) => keys.reduce((place, key) => nextWord(BOXES, place, key), at);
  assert.equal(from(0, 'ArrowRight', 'ArrowRight', 'ArrowRight'), 3);
  assert.equal(from(0, 'ArrowLeft'), 0);
  assert.equal(from(4, 'ArrowRight'), 4);
  assert.equal(from(2, 'ArrowDown'), 4);
  assert.equal(from(0, 'ArrowDown'), 3);
  assert.equal(from(4, 'ArrowUp'), 2);
  assert.equal(from(1, 'ArrowUp'), 1);
  assert.equal(from(4, 'ArrowDown'), 4);
  assert.equal(from(3, 'Home'), 0);
  assert.equal(from(0, 'End'), 4);
  assert.equal(from(2, 'Escape'), null);
  assert.equal(from(2, 'c'), undefined);
  assert.equal(from(2, 'toString'), undefined);
});

test('words of right-to-left scripts flow to the left, and arrow keys follow', () => {
  assert.ok(flowsLeftward(['[CLS]', 'שלום', '\u0020עולם', 'abc', '[SEP]']));
  assert.ok(flowsLeftward(['م 1/2', 'م 2/2', ' 12', '.']));
  for (const tokens of [['The', ' cat'], ['你', '好'], ['12', '.'], [], ['the word', ' שלום', ' means', ' peace']])
    assert.ok(!flowsLeftward(tokens));
  const boxes = BOXES.map(box => ({ ...box, leftward: true }));
  assert.deepEqual([nextWord(boxes, 1, 'ArrowLeft'), nextWord(boxes, 1, 'ArrowRight')], [2, 0]);
});

test('closing punctuation stays on the line of the word before it', () => {
  const tokens = ['start', 'dark', '.', ' One', ' day', ',', ' he', '\n', '.', ' (', 'a', ')'];
  const stay = tokens.filter((_, i) => joinsPrevious(tokens)[i]);
  assert.deepEqual(stay, ['.', ',', ')']);
  assert.ok(!joinsPrevious(tokens)[8]); // a token after a line break does not join the previous line
  assert.deepEqual(joinsPrevious(['start', '.']), [false, false]); // a full stop does not join a special token
});
