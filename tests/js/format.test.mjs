import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  cutText,
  formatNumber,
  formatWeight,
  quoteToken,
  splitPart,
  splitReferences,
  tokenText,
  truncate,
} from '../../components/core/format.js';
import { cellIndex, merged, sameBytes, unpack } from '../../components/core/payload.js';
import { bytes, fixture } from './harness.mjs';

test('a blob of payload.py arrives, at any offset', () => {
  const blob = bytes('payload');
  const { header, arrays } = fixture('payload');
  for (const offset of [0, 1, 3]) {
    const message = new Uint8Array(offset + blob.length);
    message.set(blob, offset);
    const got = unpack(message.subarray(offset));
    assert.equal(got.text, header.text);
    assert.deepEqual(got.list, header.list);
    for (const [name, { shape, data }] of Object.entries(arrays)) {
      assert.deepEqual(got.arrays[name].shape, shape);
      assert.deepEqual(Array.from(got.arrays[name].data), data);
    }
  }
});

test('a text is cut before a surrogate pair, never within it', () => {
  assert.equal(cutText('abc', 3), 'abc');
  assert.equal(cutText('abcd', 3), 'abc');
  assert.equal(cutText('ab🐉', 3), 'ab');
  assert.equal(cutText('ab🐉', 4), 'ab🐉');
});

test('the lower triangle is packed row after row', () => {
  const [triangle, full] = [cellIndex(true), cellIndex(false, 7)];
  assert.deepEqual([triangle(0, 0), triangle(1, 0), triangle(1, 1), triangle(4, 2)], [0, 1, 2, 12]);
  assert.deepEqual([full(0, 3), full(2, 1)], [3, 15]);
});

test('tokens are shown with a sign for what cannot be seen', () => {
  for (const [token, shown] of [
    [' cat', 'cat'],
    ['\n', '↵'],
    ['\t', '⇥'],
    [' ', '␣'],
    ['', '∅'],
    ['\x00', '\u2400'],
    ['\x7f', '␡'],
    ['\u202eabc', '⟨202e⟩abc'],
    ['\ud800', '\ufffd'],
    ['👩‍👩‍👧', '👩‍👩‍👧'],
    ['<b>', '<b>'],
    ['\u200d', '⟨200d⟩'],
    ['\u200d\u20092/3', '⟨200d⟩\u20092/3'],
    ['े', '◌े'],
    ['नमस्ते', 'नमस्ते'],
  ])
    assert.equal(tokenText(token), shown);
  assert.deepEqual(splitPart('ש\u20091/2'), { text: 'ש', part: '1/2' });
  assert.deepEqual(splitPart('a 1/2'), { text: 'a 1/2', part: '' });
  assert.equal(quoteToken(' שלום'), '“\u2068שלום\u2069”');
});

test('texts are cut between characters as a reader counts them', () => {
  assert.equal(truncate('abcdef', 6), 'abcdef');
  assert.equal(truncate('abcdefg', 6), 'abcde…');
  assert.equal(truncate('👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧', 2), '👩‍👩‍👧…');
  assert.equal(truncate('👩‍👩‍👧👩‍👩‍👧', 2), '👩‍👩‍👧👩‍👩‍👧');
});

test('a number has its sign', () => {
  assert.equal(formatNumber(-0.5, 2), '−0.50');
  assert.equal(formatNumber(0.5, 2, true), '+0.50');
  assert.equal(formatNumber(-0.0001, 2, true), '±0.00');
  assert.deepEqual([0.12345, 0, 0.000012].map(formatWeight), ['0.1235', '0.0000', '1.2e−5']);
});

test('a changed tile of a packed grid is distinguished from the others', () => {
  const [before, after] = [Uint8Array.of(1, 2, 3, 4, 5, 6), Uint8Array.of(1, 2, 3, 9, 5, 6)];
  const same = [0, 2, 4].map(start => sameBytes(before, after, start, 2));
  assert.deepEqual(same, [true, false, true]);
});

test('changes replace and remove fields and arrays; a whole payload replaces everything', () => {
  const old = { a: 1, b: 2, arrays: { x: [1], y: [2] } };
  const changes = {
    a: 3,
    c: 4,
    changes: [
      ['field', 'b'],
      ['array', 'y'],
      ['field', 'x'],
    ],
    arrays: { z: [5] },
  };
  assert.deepEqual(merged(old, changes), { a: 3, c: 4, arrays: { x: [1], z: [5] } });
  assert.deepEqual(old, { a: 1, b: 2, arrays: { x: [1], y: [2] } });
  assert.deepEqual(merged(old, { c: 1, arrays: {} }), { c: 1, arrays: {} });
});

test('references are links, and nothing else is', () => {
  assert.deepEqual(splitReferences('A <b>, arXiv 2005.00743; kexue.fm 8823 [x](y)'), [
    ['A <b>, '],
    ['arXiv 2005.00743', 'https://arxiv.org/abs/2005.00743'],
    ['; '],
    ['kexue.fm 8823', 'https://kexue.fm/archives/8823'],
    [' [x](y)'],
  ]);
});
