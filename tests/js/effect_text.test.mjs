import assert from 'node:assert/strict';
import { test } from 'node:test';
import { differenceStep, weightStep } from '../../components/core/attention/scales.js';
import {
  effectAnswer,
  effectPeek,
  effectRow,
  factLines,
  rankedRows,
  stripLegend,
  stripSentence,
  stripSize,
  stripSteps,
  stripValue,
} from '../../components/core/effect_text.js';
import { close } from './harness.mjs';

const LOSSES = { title: 'Change in loss per token', unit: 'nats', worse_is_more: true, what: 'loss' };
const MOVED = { title: 'How far each token’s vector moved', unit: '1 − cosine', worse_is_more: false };

test("a prediction's row: lengths before and after, numbers, points", () => {
  const row = effectRow({ label: ' cat', before: 0.25, after: 0.1, right: true }, true);
  close([row.before, row.after], [25, 10]);
  assert.equal(row.label, 'cat ✓');
  assert.equal(row.numbers, '25.0 → 10.0%');
  assert.equal(row.points, '−15.0');
  assert.ok(row.right);
  const plain = effectRow({ label: '7', before: 0.25, after: 0.25 }, false);
  assert.deepEqual([plain.numbers, plain.points, plain.right], ['25.0%', '', false]);
});

test('displayed numbers and points are consistent', () => {
  const numbersOf = (before, after) => {
    const row = effectRow({ label: 'a', before, after }, true);
    return `${row.numbers} ${row.points}`;
  };
  assert.equal(numbersOf(0.1088, 0.0974), '10.9 → 9.7% −1.2');
  assert.equal(numbersOf(0.00849, 0.00851), '0.8 → 0.9% +0.1');
  assert.equal(numbersOf(0.0804, 0.0796), '8.0 → 8.0% ±0.0');
  assert.equal(numbersOf(0.0002, 0.0031), '<0.1 → 0.3% +0.3');
  assert.equal(numbersOf(0.9999, 0.25), '>99.9 → 25.0% −75.0');
});

test('the effect in one line: the top-1 answer before and after, and the verdict', () => {
  const rows = (...shares) => shares.map(([label, before, after]) => ({ label, before, after }));
  const peekOf = (changed, ...shares) => {
    const data = { changed, before: 1, after: changed ? 1.5 : 1 };
    const { title, text, verdict } = effectPeek(data, { title: 'Answer to x=?', rows: rows(...shares), kl: 0.1 });
    return [title, text, verdict?.text];
  };
  const worse = '▲ +0.500, worse';
  const turned = '“7” >99.9% → “3” 89.0% (“7” 10.0%)';
  assert.deepEqual(peekOf(true, ['3', 0, 0.89], ['7', 0.9999, 0.1]), ['Answer to x=?', turned, worse]);
  assert.deepEqual(peekOf(true, ['3', 0.2, 0.3], ['7', 0.8, 0.7]), ['Answer to x=?', '“7” 80.0% → 70.0%', worse]);
  assert.deepEqual(peekOf(false, ['3', 0.2, 0.2], ['7', 0.8, 0.8]), ['Answer to x=?', '“7” 80.0%', undefined]);
  const moved = { facts: [{ name: 'Sentence moved', before: null, after: 0.25, unit: '1 − cosine' }], changed: true };
  assert.equal(effectPeek(moved, undefined).text, '0.250 1 − cosine');
});

const shares = rows => rows.map(([label, before, after, right]) => ({ label, before, after, right }));

test('the large answer: right, made wrong by the plan, wrong without it, or changed', () => {
  const answerOf = (changed, known, ...rows) => {
    const { token, verdict, before, className } = effectAnswer({ rows: shares(rows), known }, changed);
    return [token, verdict, before, className];
  };
  assert.deepEqual(answerOf(false, true, ['3', 0.1, 0.1], ['7', 0.9, 0.9, true]), ['7', '✓ right', '', 'right']);
  const wrong = ['3', '✗ wrong', 'before: “7”', 'wrong'];
  assert.deepEqual(answerOf(true, true, ['3', 0.1, 0.9], ['7', 0.9, 0.1, true]), wrong);
  assert.deepEqual(answerOf(true, true, ['3', 0.9, 0.8], ['7', 0.1, 0.2, true]), ['3', '✗ wrong', '', 'missed']);
  assert.deepEqual(answerOf(true, true, ['3', 0.9, 0.1], ['7', 0.1, 0.9, true])[3], 'right');
  assert.deepEqual(answerOf(true, false, [' He', 0.9, 0.1], [' She', 0.1, 0.9]), [
    'She',
    'changed',
    'before: “He”',
    'turned',
  ]);
  assert.deepEqual(answerOf(true, false, [' He', 0.9, 0.8], [' She', 0.1, 0.2]), ['He', 'unchanged', '', 'same']);
  assert.deepEqual(answerOf(true, true, ['a', 0.9, 0.1], ['b', 0.05, 0.8])[3], 'missed'); // no row is right
  assert.equal(answerOf(false, false, ['.', 0.9, 0.9])[0], '“.”');
  assert.equal(effectAnswer({ rows: [] }, true), null);
});

test('rows are ordered by the new probability, and every row whose rank changed shows the old rank', () => {
  const rows = [
    { label: 'a', before: 0.5, after: 0.1, ranks: [1, 3] },
    { label: 'b', before: 0.3, after: 0.2, ranks: [2, 2] },
    { label: 'c', before: 0.1, after: 0.05, ranks: [3, 5] },
    { label: 'd', before: 0.01, after: 0.6, ranks: [22, 1] },
    { label: 'e', before: 0.00001, after: 0.00002, ranks: [40, 30] }, // displayed as <0.1% before and after
    { label: 'f', before: 0.0002, after: 0.002, ranks: [100, 8] },
  ];
  const order = changed => rankedRows(rows, changed).map(({ label, was }) => [label, was].filter(Boolean).join(' '));
  assert.deepEqual(order(false), ['a', 'b', 'c', 'd', 'e', 'f']);
  assert.deepEqual(order(true), ['d was 22nd', 'b', 'a was 1st', 'c was 3rd', 'f new', 'e']);
  assert.deepEqual(
    rankedRows(rows, true).map(({ index }) => index),
    [3, 1, 0, 2, 5, 4],
  );
  assert.equal(rankedRows(rows, true)[4].title, 'rank before the change: 100');
  const ordinals = [4, 10, 11, 12, 13, 21, 31, 99].map(
    old => rankedRows([{ ...rows[0], ranks: [old, 1] }], true)[0].was,
  );
  const endings = ['4th', '10th', '11th', '12th', '13th', '21st', '31st', '99th'];
  assert.deepEqual(
    ordinals,
    endings.map(rank => `was ${rank}`),
  );
});

test('the size of a strip has steps', () => {
  assert.deepEqual([1, 24, 25, 64, 65, 512].map(stripSize), ['short', 'short', 'medium', 'medium', 'long', 'long']);
});

const texts = (data, shown) =>
  factLines({ changed: true, before: null, after: null, ...data }, shown).map(line => [
    line.name,
    line.text,
    line.verdict?.text,
  ]);

const [MOVES, SURPRISE] = ['KL divergence from the unmodified model', 'Loss on the text'];

test('the facts have KL divergence, loss and verdict', () => {
  assert.deepEqual(texts({ before: 2, after: 2.25 }, { kl: 0.1234 }), [
    [MOVES, '0.123 nats', undefined],
    [SURPRISE, '2.000 → 2.250 ', '▲ +0.250, worse'],
  ]);
  assert.deepEqual(texts({ before: 2.25, after: 2 }, { kl: 0.0001 }), [
    [MOVES, '<0.001 nats', undefined],
    [SURPRISE, '2.250 → 2.000 ', '▼ −0.250, better'],
  ]);
  assert.equal(texts({ before: 2, after: 2.0001 }, { kl: 0 })[1][2], '= ±0.000, no change');
  // the difference is computed from the rounded numbers on the screen, so that a visitor can check it
  assert.deepEqual(texts({ before: 4.0284, after: 4.2166 }, { kl: 1 })[1].slice(1), [
    '4.028 → 4.217 ',
    '▲ +0.189, worse',
  ]);
  assert.deepEqual(texts({ before: 2, after: 2, changed: false }, { kl: 0 }), [
    [MOVES, 'nothing is changed yet', undefined],
    [SURPRISE, '2.000 nats', undefined],
  ]);
});

test('of several predictions the one with the largest KL divergence is named', () => {
  const predictions = [
    { title: 'After My', kl: 0.25 },
    { title: 'After hat', kl: 1.5 },
    { title: 'After .', kl: 0 },
  ];
  const FURTHEST = 'Largest KL divergence';
  assert.deepEqual(texts({ predictions }, predictions[2]), [
    [MOVES, '0.000 nats', undefined],
    [FURTHEST, 'After hat, 1.500 nats', undefined],
  ]);
  assert.deepEqual(texts({ predictions, changed: false }, predictions[2])[1], [
    FURTHEST,
    'nothing is changed yet',
    undefined,
  ]);
  const still = predictions.map(its => ({ ...its, kl: 0 }));
  assert.deepEqual(texts({ predictions: still }, still[0])[1], [FURTHEST, '0.000 nats', undefined]);
  assert.equal(texts({ predictions: [predictions[1]] }, predictions[1]).length, 1);
});

test('a text without a loss has no line about the loss', () => {
  assert.deepEqual(texts({}, undefined), [[MOVES, '–', undefined]]);
});

test('given facts replace KL divergence and loss', () => {
  const facts = [
    { name: 'Cosine', before: 1, after: 0.75, unit: '' },
    { name: 'Moved', before: null, after: 0.25, unit: '1 − cosine' },
  ];
  assert.deepEqual(texts({ facts }, undefined), [
    ['Cosine', '1.000 → 0.750 ', '▼ −0.250, less'],
    ['Moved', '0.250 1 − cosine', undefined],
  ]);
});

test('the strip shows changes, or values without an old value', () => {
  const tokens = [
    { token: 'a', before: null, after: null },
    { token: 'b', before: 2, after: 4 },
    { token: 'c', before: 2, after: 1.5 },
  ];
  assert.deepEqual(tokens.map(stripValue), [null, 2, -0.5]);
  const { single, steps } = stripSteps(tokens, LOSSES);
  assert.ok(!single);
  assert.deepEqual(steps, [null, 255, differenceStep(-0.5, 2)]);
  const moved = [0.2, 0.05, null].map(after => ({ token: 'x', before: null, after }));
  assert.deepEqual(stripSteps(moved, MOVED), { single: true, steps: [255, weightStep(0.25), null] });
});

test('the sentence about a token', () => {
  const sentence = (before, after, strip) => stripSentence({ token: ' cat', before, after }, strip);
  assert.equal(sentence(2, 2.5, LOSSES), '“cat”: loss 2.000 → 2.500 (+0.500, worse)');
  assert.equal(sentence(2.5, 2, LOSSES), '“cat”: loss 2.500 → 2.000 (−0.500, better)');
  assert.equal(sentence(null, null, LOSSES), '“cat”: no loss');
  assert.equal(sentence(null, 0.25, MOVED), '“cat”: 0.250 1 − cosine');
  assert.equal(sentence(1, 2, MOVED), '“cat”: 1.000 → 2.000 (+1.000, more)');
  const top = [
    [' dog', 0.5],
    [' cat', 0.25],
  ];
  assert.equal(
    stripSentence({ token: ' cat', before: null, after: 1, top }, LOSSES),
    '“cat”: loss 1.000 nats; predicted here: “dog” 50.0%, “cat” 25.0%',
  );
  assert.match(stripLegend(LOSSES, true), /higher loss/);
  assert.match(stripLegend(LOSSES, false), /blue: better · orange: worse/);
  assert.doesNotMatch(stripLegend(MOVED, false) + stripLegend(MOVED, true), /worse|better/);
});
