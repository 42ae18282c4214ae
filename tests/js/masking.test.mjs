import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maskedSentence, maskingSentence } from '../../components/core/attention/masking.js';
import { accumulateMask } from '../../components/core/attention/pattern.js';
import { formatPercent } from '../../components/core/format.js';
import './harness.mjs';

const tokens = ['a', 'b', 'c', 'd', 'e'];
// S of selective attention: row i has the strength with which token i votes to mask each token from 0 to i
const rows = [[0], [0.004, 0], [2, 0.5, 0], [1, 0, 0.25, 0], [0.1, 0.2, 0.3, 0.4, 0]];
const selected = rows.flat();
const memory = { tokens, selected, mask: accumulateMask(selected, tokens.length) };
const plain = text => text.replace(/[\u2066-\u2069]/g, '');

test('the three strongest votes of a token are listed first', () => {
  assert.equal(plain(maskingSentence(memory, 2)), '“c” masks “a” (S 2.00), “b” (S 0.50)');
  assert.equal(plain(maskingSentence(memory, 4)), '“e” masks “d” (S 0.40), “c” (S 0.30), “b” (S 0.20)');
});

test('a vote below 0.005 is not listed', () => {
  assert.equal(plain(maskingSentence(memory, 1)), '“b” masks no token');
  assert.equal(plain(maskedSentence(memory, 1, 0)), '“a” is not masked');
});

test('a token is forgotten by those read so far, and the next query has exp(-F) of it', () => {
  const left = f => formatPercent(Math.exp(-f));
  assert.equal(plain(maskedSentence(memory, 2, 0)), `“a” is masked by “c” (S 2.00): ${left(2.004)} of its weight left`);
  assert.equal(
    plain(maskedSentence(memory, 3, 0)),
    `“a” is masked by “c” (S 2.00), “d” (S 1.00): ${left(3.004)} of its weight left`,
  );
  assert.equal(plain(maskedSentence(memory, 4, 3)), `“d” is masked by “e” (S 0.40): ${left(0.4)} of its weight left`);
});

test('a token that is not read yet has no sentence', () => {
  assert.equal(plain(maskedSentence(memory, 2, 3)), '“d” has not been read yet');
  assert.equal(plain(maskedSentence(memory, 3, 3)), '“d” is not masked');
});
