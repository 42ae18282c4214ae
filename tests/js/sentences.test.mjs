// Tests of the Lab's sentences: lead and caption (components/core/stage/sentences.js).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  captionSentences,
  changedParts,
  formatShare,
  formerText,
  leadSentence,
  sentencePieces,
  shortHead,
  wordText,
} from '../../components/core/stage/sentences.js';

const grid = (rows, value) => rows.map(row => row.map(() => value));
function kind(name, gates, more = {}) {
  return {
    kind: name,
    title: name,
    layers: gates.length,
    heads: gates[0].length,
    keys: 'text',
    gates,
    constant: grid(gates, false),
    ...more,
  };
}
const LIVE = [
  [1, 1, 1],
  [1, 1, 1],
];
const answer = (before, after) => ({
  rows: [
    { label: ' ball', before: before[0], after: after[0] },
    { label: ' toy', before: before[1], after: after[1] },
  ],
});
function payload(more = {}) {
  return {
    model: { title: 'Selective', kind: 'next' },
    kinds: [kind('decoder', LIVE)],
    tokens: { text: ['start', ' red', ' ball'] },
    special: { text: [0] },
    arrays: {},
    changed: false,
    answer: answer([0.66, 0.2], [0.66, 0.2]),
    ...more,
  };
}
const HEAD = { kind: 'decoder', layer: 1, head: 2, scope: 'head' };
const LAST = { queries: 'text', query: 2, atRow: 'text', at: 2 };
const shown = (more = {}) => ({
  selection: HEAD,
  row: [0.1, 0.2, 0.7],
  used: true,
  contributions: false,
  ...LAST,
  ...more,
});
const sentenceText = sentence =>
  sentencePieces(sentence)
    .map(({ text }) => text)
    .join('');
const caption = (data, more) => captionSentences(data, shown(more)).map(sentenceText).join(' ');

test('a share is 0% or 100% only if it is', () => {
  const shares = [0, 0.001, 0.0049, 0.005, 0.66, 0.994, 0.9999, 1].map(formatShare);
  assert.deepEqual(shares, ['0%', '<1%', '<1%', '1%', '66%', '99%', '>99%', '100%']);
});

test('without changes the caption names the answer and where the head looks', () => {
  assert.equal(caption(payload()), 'The best guess is ball. Layer 2, head 3 gives 70% of its attention to ball.');
  assert.equal(
    caption(payload(), { selection: { ...HEAD, scope: 'row' } }),
    'The best guess is ball. The heads of layer 2 look most at ball, 70% on average.',
  );
  assert.equal(caption(payload(), { row: null }), 'The best guess is ball.');
  assert.equal(caption(payload({ answer: null })), 'Layer 2, head 3 gives 70% of its attention to ball.');
  const masked = payload({ model: { title: 'Softmax', kind: 'masked' } });
  assert.match(caption(masked), /^The best guess is ball\. /);
});

test('tokens in a sentence keep their own look, whatever they contain', () => {
  const data = payload();
  data.answer.rows[0].label = ' {word}';
  const pieces = captionSentences(data, shown()).flatMap(sentencePieces);
  assert.deepEqual(
    pieces.filter(({ look }) => look).map(({ text, look }) => [text, look]),
    [
      ['{word}', 'answer'],
      ['ball', 'word'],
    ],
  );
  assert.equal(wordText('.'), '“.”');
  assert.equal(wordText(' a'), 'a');
});

test('with bars the caption names the heads that push most', () => {
  const data = payload({
    contributions: { token: { id: 1, label: ' ball' } },
    arrays: { 'stubs.decoder': { data: [0, 0.5, 0, 0, 2, -3] }, 'stubs.mlp': { data: [0.1, 1] } },
  });
  const push = () => caption(data, { contributions: true });
  assert.equal(push(), 'The best guess is ball. Of the heads, dec. L2·H2 and dec. L1·H2 push most directly.');
  data.arrays['stubs.decoder'].data[1] = 0.1;
  assert.equal(push(), 'The best guess is ball. Of the heads, dec. L2·H2 pushes most directly.');
  data.arrays['stubs.decoder'].data[4] = -1;
  data.arrays['stubs.decoder'].data[1] = -1;
  assert.equal(push(), 'The best guess is ball. Layer 2, head 3 gives 70% of its attention to ball.');
});

const PRUNED = answer([0.66, 0.2], [0.2, 0.3]);
const changed = (kinds, given = PRUNED) => caption(payload({ changed: true, kinds, answer: given }));

test('after a change the caption says what turned the answer', () => {
  const pruned = gates => changed([kind('decoder', gates)]);
  assert.equal(pruned([[1, 1, 1], [0, 0, 0]]), 'Without the heads of layer 2, the answer turns from ball to toy.'); // biome-ignore format: rows of heads
  assert.equal(pruned([[1, 1, 1], [0, 1, 1]]), 'Without layer 2, head 1, the answer turns from ball to toy.'); // biome-ignore format: rows of heads
  assert.equal(pruned([[1, 0, 1], [0, 1, 1]]), 'Without L1·H2 and L2·H1, the answer turns from ball to toy.'); // biome-ignore format: rows of heads
  assert.equal(pruned([[1, 0, 0], [0, 1, 1]]), 'Without 3 heads, the answer turns from ball to toy.'); // biome-ignore format: rows of heads
  assert.equal(pruned([[1, 0, 1], [0.5, 1, 1]]), 'With 2 heads changed, the answer turns from ball to toy.'); // biome-ignore format: rows of heads
  assert.equal(pruned(LIVE), 'With this setting, the answer turns from ball to toy.');
});

test('after a change the caption says if the answer stays', () => {
  const stays = answer([0.66, 0.2], [0.53, 0.3]);
  const constant = kind('decoder', LIVE, { constant: [[false, false, false], [false, false, true]] }); // biome-ignore format: rows of heads
  assert.equal(changed([constant], stays), 'With layer 2, head 3 constant, the answer stays ball: 66% → 53%.');
  const gated = kind('decoder', [[0.5, 0.5, 0.5], [1, 1, 1]]); // biome-ignore format: rows of heads
  assert.equal(changed([gated], stays), 'With the heads of layer 1 at 50%, the answer stays ball: 66% → 53%.');
  assert.equal(
    changed([kind('encoder', LIVE), kind('cross', [[0, 1, 1], [1, 1, 1]])], stays), // biome-ignore format: rows of heads
    'Without L1·H1 of cross, the answer stays ball: 66% → 53%.',
  );
});

test('heads that training pruned are no changes', () => {
  const closed = kind('decoder', [[0, 1, 1], [1, 1, 1]], { closed: [[true, false, false], [false, false, false]] }); // biome-ignore format: rows of heads
  assert.deepEqual(changedParts([closed]), []);
});

test('a model without predictions has a vector that moves', () => {
  const given = { vector: { facts: [{ after: 0.084 }] } };
  const data = payload({ changed: true, answer: given, kinds: [kind('decoder', [[0, 0, 0], [1, 1, 1]])] }); // biome-ignore format: rows of heads
  assert.equal(caption(data), 'Without the heads of layer 1, the vector of the text moves by 8%.');
});

test('the caption names the looking word where another word predicts', () => {
  assert.equal(caption(payload()), 'The best guess is ball. Layer 2, head 3 gives 70% of its attention to ball.');
  assert.match(caption(payload(), { query: 1 }), / From red, layer 2, head 3 gives 70% of its attention to ball\.$/);
  const all = { ...HEAD, scope: 'all' };
  assert.match(
    caption(payload(), { query: 1, selection: all }),
    / From red, ball gets most attention on average, 70%\.$/,
  );
});

test('the lead names the model and whose attention is shown', () => {
  const lead = (...given) => sentenceText(leadSentence(payload(), ...given));
  assert.equal(lead(HEAD, true), 'The Selective model reads this text. The tint shows where layer 2, head 3 looks.');
  assert.equal(
    lead({ ...HEAD, scope: 'row' }, false),
    'The Selective model reads this text. Nothing of layer 2 (3 heads) is used.',
  );
  assert.match(lead({ ...HEAD, scope: 'all' }, true), /where all heads look on average\.$/);
  assert.match(lead(HEAD, true, true), /The tint is the constant pattern of layer 2, head 3\.$/);
  const pair = payload({
    model: { title: 'Softmax', kind: 'pair' },
    kinds: [kind('encoder', LIVE), kind('cross', LIVE)],
  });
  assert.equal(
    sentenceText(leadSentence(pair, { ...HEAD, kind: 'cross' }, true)),
    'The Softmax model reads one text and writes the other. The tint shows where layer 2, head 3 of cross looks.',
  );
});

test('a former rank below 100 is named', () => {
  const texts = [1, 2, 22].map(old => formerText({ before: 0.03, ranks: [old, 1] }));
  assert.deepEqual(texts, ['was 3%', 'was 3%, rank 2', 'was 3%, rank 22']);
  assert.equal(formerText({ before: 0.001, ranks: [300, 1] }), 'was <1%');
  assert.equal(shortHead(2, 4), 'L3·H5');
});

test('the caption of a translator says what it writes, and of a hidden answer nothing', () => {
  const written = (before, after, changed = after !== null) => payload({ written: { before, after }, changed });
  assert.equal(caption(written('Die Katze.', null), { row: null }), 'It writes Die Katze.');
  assert.equal(caption(written('Die Katze.', '')), 'It writes …');
  assert.equal(caption(written('Die Katze.', 'Die Katze.')), 'It still writes Die Katze.');
  assert.equal(caption(written('Die Katze.', 'Der Hund.')), 'It writes Der Hund. instead of Die Katze.');
  const hidden = payload({ hidden: true, changed: true, answer: null });
  assert.equal(caption(hidden), 'Layer 2, head 3 gives 70% of its attention to ball.');
});
