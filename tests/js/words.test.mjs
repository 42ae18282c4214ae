// Tests of components/core/words.js: attention between words, as displayed in the Words view.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { differenceStep, weightStep } from '../../components/core/attention/scales.js';
import {
  fitsThumbnails,
  flowsLeftward,
  isSpecialToken,
  joinsPrevious,
  labelledNumbers,
  labelsWithRoom,
  maskedShares,
  meanPattern,
  narrowTokens,
  nextWord,
  rowShares,
  strongestPositions,
  wordGaps,
  wordNumber,
  wordSentence,
  wordStep,
} from '../../components/core/attention/words.js';
import { pageData } from '../../components/core/page_data.js';
import { setLanguage } from '../../components/core/texts.js';
import { close, fixture } from './harness.mjs';

const ROUNDED = 0.005; // largest rounding error of a weight whose square root is sent in 255 steps

for (const [name, its] of Object.entries(fixture('means'))) {
  const mean = (layer, gates = its.gates) => meanPattern({ ...its, gates }, its.packed, layer, its.queries, its.keys);
  const each = (found, check) => {
    for (let i = 0; i < its.queries; i += 1)
      for (let j = 0; j < (its.causal ? i + 1 : its.keys); j += 1) check(found.value(i, j), i, j);
  };
  const whole = its.queries <= 64 && its.keys <= 64;

  test(`${name}: the mean of a layer, and of all heads, is the one of the weights, each by its gate`, () => {
    for (const [layer, expected] of [...its.layer.entries(), [null, its.all]]) {
      const found = mean(layer);
      assert.equal(found.exact, whole);
      // above 64 tokens each pixel of a thumbnail is the maximum of a block, so every mean is at least the true mean
      each(found, (value, i, j) =>
        whole
          ? close(value, expected[i][j], ROUNDED)
          : assert.ok(value >= expected[i][j] - ROUNDED, `${i} ${j}: ${value}, of ${expected[i][j]}`),
      );
    }
  });

  test(`${name}: without any open gate there is no mean`, () => {
    const closed = its.gates.map(row => row.map(() => 0));
    assert.equal(mean(null, closed), null);
    assert.equal(mean(0, [closed[0], ...its.gates.slice(1)]), null);
  });

  test(`${name}: thumbnails fit the text that they are of, and no other`, () => {
    assert.ok(fitsThumbnails(its, its.queries, its.keys));
    assert.ok(!fitsThumbnails(its, its.queries + 9, its.keys));
    assert.ok(!fitsThumbnails(its, its.queries, its.keys - 3));
  });
}

test('the words of a block of a large map share its weight', () => {
  const its = fixture('means').large;
  const { value } = meanPattern(its, its.packed, 0, 70, 70);
  assert.equal(value(40, 20), value(41, 21));
  assert.notEqual(value(40, 20), value(42, 20));
});

test('shares are parts of a row, whatever it sums to', () => {
  close(rowShares(Float64Array.of(0.1, 0.3)), [0.25, 0.75]);
  close(rowShares(Float64Array.of(0.25, 0.75)), [0.25, 0.75]);
  assert.deepEqual(Array.from(rowShares(Float64Array.of(0, 0))), [0, 0]);
});

test('the part that F masks is a fraction', () => {
  const value = maskedShares(Float32Array.of(0, 0, Math.log(2), 0), 2);
  close([value(0, 0), value(1, 0), value(1, 1)], [0, 0.5, 0]);
});

test('the largest absolute values come first, and few are omitted', () => {
  assert.deepEqual(strongestPositions([0.1, -0.4, 0.005, 0.2, 0.2], 9), [1, 3, 4, 0]);
  assert.deepEqual(strongestPositions([0.1, -0.4, 0.005, 0.2], 2), [1, 3]);
  assert.deepEqual(strongestPositions([], 4), []);
});

test('words are tinted as cells are', () => {
  assert.equal(wordStep('share', 0.25), weightStep(0.25));
  assert.equal(wordStep('seen', 0.25), weightStep(0.25));
  assert.equal(wordStep('change', -0.25), differenceStep(-0.25));
  assert.equal(wordStep('taken', 0.5), 128);
});

test('numbers beside words are whole percentages, and never a wrong 100', () => {
  assert.equal(wordNumber('share', 0.324), '32%');
  assert.equal(wordNumber('share', 1), '100%');
  assert.equal(wordNumber('share', 0.9971), '>99%');
  assert.equal(wordNumber('change', -0.302), '−30');
  assert.equal(wordNumber('change', 0.12), '+12');
  const written = labelledNumbers('share', [0.5, 0.2, 0.1, 0.06, 0.05, 0.04, 0.03, 0.02]);
  assert.deepEqual(
    [...written],
    [
      [0, '50%'],
      [1, '20%'],
      [2, '10%'],
      [3, '6%'],
      [4, '5%'],
      [5, '4%'],
    ],
  );
});

const WORDS = ['start', 'The', ' cat', ' sat'];
const sentence = (what, row, more = {}) =>
  wordSentence({ what, word: WORDS[row.length - 1], words: WORDS, row, self: row.length - 1, ...more });

test('the sentence about the tint', () => {
  assert.equal(
    sentence('share', [0.5, 0.3, 0.15, 0.05]),
    '“sat” attends to “start” 50%, “The” 30%, “cat” 15%, itself 5%',
  );
  assert.equal(sentence('share', [1]), '“start” attends to itself 100%');
  assert.equal(sentence('share', [0.5, 0.5], { about: true }), '“The” attends to about “start” 50%, itself 50%');
  assert.equal(sentence('share', [0, 0]), '“The” attends to nothing');
  const pruned = 'Pruned: the attention of “The” has no effect';
  assert.equal(sentence('share', [0.5, 0.5], { pruned: true }), pruned);
  const thin = Array(200).fill(1 / 200);
  assert.equal(
    wordSentence({ what: 'share', word: 'x', words: Array(200).fill('x'), row: thin, self: 3 }),
    '“x” attends a little to each of 200 words',
  );
  assert.equal(
    sentence('change', [0.02, -0.3, 0.28]),
    '“cat”, constant minus computed weights, in percentage points: “The” −30, itself +28, “start” +2',
  );
  assert.equal(
    sentence('change', [0.02, -0.3, 0.28], { view: 'change' }),
    '“cat”, weights after minus before your changes, in percentage points: “The” −30, itself +28, “start” +2',
  );
  assert.equal(sentence('change', [0, 0], { view: 'change' }), '“The”: the same as before your changes');
  assert.equal(sentence('change', [0, 0.001]), '“The”: constant and computed weights are the same');
  assert.equal(sentence('taken', [0, 0.8, 0]), 'For query “cat”, F masks “The” 80%');
  assert.equal(sentence('taken', [0, 0]), 'For query “The”, F masks nothing');
  assert.equal(
    wordSentence({ what: 'seen', word: ' mat', words: ['Die', ' Matte'], row: [0.1, 0.9] }),
    '“mat” is attended to by “Matte” 90%, “Die” 10%',
  );
  assert.equal(wordSentence({ what: 'seen', word: 'a', words: ['b'], row: [0] }), 'No word attends to “a”');
});

test('parts of one word stand together', () => {
  assert.deepEqual(wordGaps(['start', 'Once', ' up', 'on', ',']), [false, true, true, false, false]);
  assert.deepEqual(wordGaps(['[CLS]', 'play', '##ing', '.', '[SEP]']), [false, true, false, true, true]);
  assert.deepEqual(wordGaps(['start', 'x=', '1', 'x=?']), [false, true, true, true]);
  assert.deepEqual(wordGaps(['start', 'a', ' little', '[MASK]', '.']), [false, true, true, true, false]);
  assert.deepEqual(wordGaps([]), []);
});

test('of two short words side by side each has room for its number', () => {
  assert.deepEqual(narrowTokens([' se', 'a', '.', 'end']), [false, true, true, false]);
  assert.deepEqual(narrowTokens([' I', ' am', ' a', ' cat', '.']), [false, false, false, false, false]);
  assert.deepEqual(narrowTokens(['猫', ' 。']), [true, true]);
  assert.deepEqual([narrowTokens(['a']), narrowTokens([])], [[false], []]);
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

test('the mean of patterns keeps the sink apart from the keys', () => {
  const grid = { rows: 1, columns: 2, causal: true, sink: true, gates: [[1]] };
  const { value } = meanPattern(grid, Uint8Array.from([255, 128]), null, 1, 2);
  close([value(0, 0), value(0, 1)], [1, 0.25], ROUNDED);
  assert.ok(fitsThumbnails(grid, 1, 2) && fitsThumbnails({ rows: 50, columns: 51, sink: true }, 100, 101));
});

test('closing punctuation stays on the line of the word before it', () => {
  const tokens = ['start', 'dark', '.', ' One', ' day', ',', ' he', '\n', '.', ' (', 'a', ')'];
  const stay = tokens.filter((_, i) => joinsPrevious(tokens)[i]);
  assert.deepEqual(stay, ['.', ',', ')']);
  assert.ok(!joinsPrevious(tokens)[8]); // a token after a line break does not join the previous line
  assert.deepEqual(joinsPrevious(['start', '.']), [false, false]); // a full stop does not join a special token
});

test('labels of one line do not overlap, and the first takes precedence', () => {
  const boxes = [20, 40, 62, 100].map(x => ({ x, y: 0 })).concat([{ x: 40, y: 40 }]);
  const labels = new Map([1, 0, 2, 3, 4].map(j => [j, '>99%']));
  assert.deepEqual([...labelsWithRoom(labels, boxes, () => 36).keys()], [1, 3, 4]);
  assert.deepEqual([...labelsWithRoom(labels, boxes, () => 17).keys()], [1, 0, 2, 3, 4]);
  const places = [...labelsWithRoom(labels, boxes, () => 19).keys()].map(j => boxes[j]);
  for (const [i, one] of places.entries())
    for (const other of places.slice(i + 1)) assert.ok(one.y !== other.y || Math.abs(one.x - other.x) >= 22);
});
