// Tests of components/core/stage/tools.js: the open tool, the search, and the numbers of the tools.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  axisTicks,
  entropy,
  foundTools,
  largest,
  lookersAt,
  lossSummary,
  openTool,
  settingOf,
} from '../../components/core/stage/tools.js';
import { endLabels, lookOf } from '../../components/lab/tools/charts.js';
import { close } from './harness.mjs';

const TOOLS = [
  { key: 'head.looks', thing: 'head', question: 'Where does it look?', term: 'pattern' },
  { key: 'head.why', thing: 'head', question: 'Why there?', term: 'q·k' },
  { key: 'layer.mean', thing: 'layer', question: 'Where do its heads look?', term: 'mean pattern' },
  { key: 'answer.who', thing: 'answer', question: 'Who wrote it?', term: 'attribution' },
];
const DATA = { tools: TOOLS, tool: { key: 'head.why' }, thing: 'head' };

test('the open tool follows the waiting events in their order', () => {
  assert.equal(openTool(DATA, []), 'head.why');
  assert.equal(openTool(DATA, [{ type: 'tool', name: 'answer.who' }]), 'answer.who');
  assert.equal(openTool(DATA, [{ type: 'thing', thing: 'layer' }]), 'layer.mean');
  assert.equal(
    openTool(DATA, [
      { type: 'select', scope: 'row' },
      { type: 'tool', name: 'head.looks' },
    ]),
    'head.looks',
  );
});

test('a selection of the same kind of thing keeps the open tool', () => {
  assert.equal(openTool(DATA, [{ type: 'select', scope: 'head' }]), 'head.why');
  assert.equal(openTool(DATA, [{ type: 'select', scope: 'and.0.1' }]), 'head.why');
  assert.equal(openTool({ ...DATA, tool: { key: 'answer.who' } }, [{ type: 'select', scope: 'head' }]), 'head.looks');
});

test('a tab without tools keeps the open tool', () => {
  assert.equal(openTool(DATA, [{ type: 'thing', thing: 'word' }]), 'head.why');
  assert.equal(openTool({ tools: [], tool: null, thing: 'head' }, []), null);
});

test('the newest waiting value of a setting is shown', () => {
  const waiting = [
    { type: 'set', name: 'looks.view', value: 'computed' },
    { type: 'set', name: 'find.role', value: 'first' },
    { type: 'set', name: 'looks.view', value: 'constant' },
  ];
  assert.equal(settingOf('used', waiting, 'looks.view'), 'constant');
  assert.equal(settingOf('used', waiting, 'why.split'), 'used');
});

test('the search finds questions and terms, all words in any order', () => {
  const keys = search => foundTools(TOOLS, search).map(({ key }) => key);
  assert.deepEqual(keys(''), ['head.looks', 'head.why', 'layer.mean', 'answer.who']);
  assert.deepEqual(keys('look WHERE'), ['head.looks', 'layer.mean']);
  assert.deepEqual(
    foundTools([{ key: 'all.order', question: 'How many?', term: 'order' }], 'ablation').map(({ key }) => key),
    ['all.order'],
  );
  assert.deepEqual(keys('q·k'), ['head.why']);
  assert.deepEqual(keys('wrote pattern'), []);
});

test('the entropy of an even row is the logarithm of its length, also if the row does not sum to 1', () => {
  close(entropy([0.25, 0.25, 0.25, 0.25]), Math.log(4));
  close(entropy([3, 3, 0]), Math.log(2));
  assert.equal(entropy([0, 1, 0]), 0);
  assert.equal(entropy([0, 0]), 0);
});

test('equal numbers keep their order', () => {
  assert.deepEqual(
    largest([1, 3, 1, 2], 3).map(({ index }) => index),
    [1, 3, 0],
  );
});

/** Returns a payload of one layer with two heads on three tokens; `maps` has a lower triangle of bytes per head. */
const causal = maps => ({
  tokens: { text: ['a', 'b', 'c'] },
  kinds: [
    {
      kind: 'self',
      layers: 1,
      heads: 2,
      causal: true,
      packed: true,
      exact: true,
      queries: 'text',
      keys: 'text',
      side: [3, 3],
    },
  ],
  arrays: { 'tiles.self': { data: Uint8Array.from(maps.flat()), shape: [1, 2, 6] } },
});

test('who looks at a word: the mean over the later words, without the word itself', () => {
  const data = causal([
    [255, 0, 255, 255, 0, 0],
    [255, 255, 0, 0, 255, 0],
  ]);
  const found = lookersAt(data, 'self', 0);
  assert.deepEqual(
    found.map(({ head }) => head),
    [0, 1],
  );
  close(
    found.map(({ value }) => value),
    [0.5, 0.5],
  );
  close(lookersAt(data, 'self', 1)[0].value, 1);
  assert.equal(lookersAt(data, 'self', 1)[0].head, 1);
  assert.deepEqual(lookersAt(data, 'self', 2), []);
});

test('losses: the means, and the largest changes without those of unknown losses', () => {
  const { mean, before, most } = lossSummary([null, 2, 4, 1], [null, 2, 1, 1.5]);
  close([mean, before], [7 / 3, 1.5]);
  assert.deepEqual(most, [
    { index: 2, change: 3 },
    { index: 3, change: -0.5 },
  ]);
  assert.deepEqual(lossSummary([null], null), { mean: null, before: null, most: [] });
});

test('ticks are round numbers within the axis', () => {
  assert.deepEqual(axisTicks(3.55, 5.9, 6), [4, 4.5, 5, 5.5]);
  assert.deepEqual(axisTicks(0, 32, 4), [0, 10, 20, 30]);
  assert.deepEqual(axisTicks(0.004, 0.121, 4), [0.05, 0.1]);
  for (const [low, high] of [
    [-3, 17],
    [0.1, 0.11],
    [5, 5],
  ]) {
    const ticks = axisTicks(low, high, 5);
    assert.ok(ticks.length <= 6);
    assert.ok(ticks.every(tick => tick >= low - 1e-9 && tick <= high + 1e-9));
  }
});

test('six curves differ in dashes alone', () => {
  assert.equal(new Set(Array.from({ length: 6 }, (_, index) => lookOf(index)['stroke-dasharray'])).size, 6);
});

test('the numbers at the ends of curves are in their order, within the chart, and equal ones are one', () => {
  const labels = (...ends) =>
    endLabels(
      ends.map(end => ({ points: [[1, end]] })),
      end => 100 - end,
    );
  assert.deepEqual(
    labels(3.581, 80, 3.579, 92, 90, 70, 60).map(({ value }) => value),
    ['3.58', '60.00', '70.00', '80.00', '90.00', '92.00'],
  );
  for (const ends of [
    [92, 91, 90, 89, 88, 87],
    [0, 1, 2, 3, 4, 5],
  ]) {
    const heights = labels(...ends).map(({ y }) => y);
    assert.ok(
      heights.every((y, index) => y >= 8 && y <= 104 && !(y > heights[index - 1] - 12)),
      String(heights),
    );
  }
});
