// core/axes.js, marks.js, lines.js, chart.js: where values stand in charts, what they say, and their tables.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from './harness.mjs';

const lab = load(
  'core/texts.js',
  'core/text.js',
  'core/scales.js',
  'core/svg.js',
  'core/axes.js',
  'core/marks.js',
  'core/lines.js',
  'core/chart.js',
);

const flat = node => (typeof node === 'string' ? [] : [node, ...node.slice(2).flatMap(flat)]);
const told = ({ nodes }) => nodes.flatMap(flat).filter(([tag]) => tag === 'title').map(node => node[2]);
const texts = ({ nodes }) => nodes.flatMap(flat).filter(([tag]) => tag === 'text').map(node => node[2]);
const dark = { ...lab.paper, dark: true };

const SERIES = [{ name: 'softmax', colour: 0, dash: 0 }, { name: 'selective', colour: 1, dash: 1 }];
const spec = (more = {}, panel = {}) => ({
  form: 'lines',
  x: { title: 'tokens', scale: 'log2' },
  series: SERIES,
  panels: [{
    title: 'Loss',
    unit: 'nats',
    lines: [
      { series: 0, points: [[32, 3, 0.5], [64, 2], [128, 1]] },
      { series: 1, points: [[32, 2.5], [64, 2]] },
    ],
    ...panel,
  }],
  ...more,
});

test('ticks are round and inside', () => {
  assert.deepEqual(lab.roundTicks(0, 1, 5), [0, 0.2, 0.4, 0.6, 0.8, 1]);
  assert.deepEqual(lab.roundTicks(-0.31, 0.92, 3), [0, 0.5]);
  assert.deepEqual(lab.roundTicks(3.31, 3.84, 4), [3.4, 3.6, 3.8]);
});

test('axes: powers of two at equal distances, bands in order, a single value in the middle', () => {
  const log = lab.axis('log2', [32, 64, 512], 0, 100);
  assert.deepEqual([32, 64, 512].map(log), [0, 25, 100]);
  const band = lab.axis('band', [96, 6, 24], 10, 30);
  assert.deepEqual([6, 24, 96].map(band), [10, 20, 30]);
  assert.equal(lab.axis('linear', [5], 0, 10)(5), 5);
  assert.deepEqual(lab.extent([2, 2]).low < 2, true);
  assert.equal(lab.extent([1, 2], true).low, 0);
});

test('labels keep apart, in order, and inside', () => {
  assert.deepEqual(lab.spreadOut([50, 10], 16, 0, 100), [50, 10]);
  assert.deepEqual(lab.spreadOut([50, 51, 52], 16, 0, 200), [50, 66, 82]);
  assert.deepEqual(lab.spreadOut([99, 98], 16, 0, 100), [100, 84]);
  const ticks = lab.sparse([16, 32, 64, 128, 256], x => x, String);
  assert.equal(ticks.at(-1), 256);
  assert.ok(!ticks.includes(16) || !ticks.includes(32));
});

test('values', () => {
  assert.equal(lab.value(0.34567, true), '34.6%');
  assert.equal(lab.value(3.14159), '3.142');
  assert.equal(lab.value(-2), '−2');
});

test('the scale is of the lines, with their spread: a text in the box does not flatten them', () => {
  const rings = [{ series: 0, x: 19, y: 90, note: 'the text' }];
  const [plain, ringed] = [lab.chartPicture(spec(), 700, lab.paper), lab.chartPicture(spec({}, { rings }), 700, lab.paper)];
  const heights = ({ plots: [{ marks }] }) => marks.flatMap(({ points }) => points.map(({ y }) => y));
  assert.deepEqual(heights(ringed), heights(plain));
  assert.ok(ringed.plots[0].toX(19) >= ringed.plots[0].box.x); // and has its place beside them
  assert.ok(texts(ringed).includes('90')); // with its number, at the edge
  assert.ok(told(ringed).includes('softmax, tokens 19: 90, the text'));
  const [{ box }] = plain.plots;
  for (const y of heights(plain)) assert.ok(y >= box.y && y <= box.y + box.height);
});

test('lines are named at their ends where there is room, above where there is none, and once', () => {
  const [wide, narrow] = [700, 300].map(width => lab.chartPicture(spec(), width, lab.paper));
  for (const drawn of [wide, narrow])
    for (const { name } of SERIES) assert.equal(texts(drawn).filter(text => text === name).length, 1);
  const right = ({ nodes }) => Math.max(...nodes.filter(([tag, , text]) => tag === 'text' && text === 'softmax').map(([, { x }]) => x));
  assert.ok(right(wide) > wide.plots[0].box.x + wide.plots[0].box.width);
  assert.ok(right(narrow) < 100);
  const several = lab.chartPicture(spec({ panels: [...spec().panels, ...spec().panels], keyed: true, columns: 2 }), 900, lab.paper);
  assert.equal(texts(several).filter(text => text === 'softmax').length, 1);
});

test('a series has its colour in both themes, and dashes with it', () => {
  const strokes = drawn => drawn.nodes.flatMap(flat).filter(([tag, { fill }]) => tag === 'path' && fill === 'none').map(([, a]) => [a.stroke, a['stroke-dasharray']]);
  const { light, dark: other } = lab.colours;
  assert.deepEqual(strokes(lab.chartPicture(spec(), 300, lab.paper)), [[light.series[0], undefined], [light.series[1], '7 4']]);
  assert.equal(strokes(lab.chartPicture(spec(), 300, dark))[1][0], other.series[1]);
});

test('what is pointed at: the nearest place, with every line that has a value there', () => {
  const { plots } = lab.chartPicture(spec(), 700, lab.paper);
  const [{ box, toX }] = plots;
  const near = lab.nearest(plots, toX(64) + 3, box.y + 5);
  assert.equal(near.x, 64);
  assert.deepEqual(near.values.map(({ name, point }) => [name, point.value[1]]), [['softmax', 2], ['selective', 2]]);
  assert.deepEqual(lab.nearest(plots, toX(128), box.y + 5).values.map(({ name }) => name), ['softmax']);
  assert.equal(lab.nearest(plots, -50, box.y), null);
});

test('files say every point, however many there are', () => {
  const points = Array.from({ length: 100 }, (_, i) => [i + 1, i]);
  const many = spec({ x: { title: 'query', scale: 'linear' }, panels: [{ lines: [{ series: 0, points }] }] });
  assert.equal(told(lab.chartPicture(many, 700, lab.paper)).length, 0);
  assert.equal(told(lab.chartPicture(many, 700, lab.paper, true)).length, 100);
});

test('tables hold what is drawn', () => {
  const table = lab.chartTable(spec({}, { rings: [{ series: 1, x: 19, y: 9, note: 'typed' }] }));
  assert.deepEqual(table.columns, ['picture', 'line', 'tokens', 'value', 'spread', 'note']);
  assert.equal(table.rows.length, 6);
  assert.deepEqual(table.rows[0], ['Loss', 'softmax', 32, 3, 0.5, '']);
  assert.deepEqual(table.rows[5], ['Loss', 'selective', 19, 9, '', 'typed']);
});

const DOTS = {
  form: 'dots',
  x: { title: 'ratio' },
  rows: ['random', 'dense'],
  series: [{ name: 'source', colour: 'accent', dash: 1 }, { name: 'here', colour: 'ink', dash: 0 }],
  points: [[0, 0, 1.25], [0, 1, 1.5], [1, 1, 1.125], [1, 1, 1.0]],
  rule: { at: 1, label: 'softmax' },
};

test('dots: a row a name, more to the right, a number beside what stands alone', () => {
  const drawn = lab.chartPicture(DOTS, 640, lab.paper);
  assert.deepEqual(told(drawn), ['random, source: 1.25', 'random, here: 1.5', 'dense, here: 1.125', 'dense, here: 1']);
  const at = drawn.nodes.filter(([tag, , child]) => tag === 'path' && child?.[0] === 'title').map(([, { transform }]) => transform.match(/[\d.]+/g).map(Number));
  assert.ok(at[1][0] > at[0][0] && at[0][0] > at[2][0]);
  assert.ok(at[2][1] > at[1][1]);
  assert.ok(texts(drawn).includes('1.25') && !texts(drawn).includes('1.125'));
  assert.deepEqual(lab.chartTable(DOTS).rows[2], ['dense', 'here', 1.125]);
});

test('squares: one a head, in the theme’s colours; a model without numbers says why', () => {
  const squares = { form: 'squares', unit: 'nats', most: 4, panels: [{ title: 'a', values: [[0, 4], [2, 1]] }, { title: 'b', note: 'Reads 256.' }] };
  for (const theme of [lab.paper, dark]) {
    const drawn = lab.chartPicture(squares, 700, theme);
    const found = drawn.nodes.filter(([tag, , child]) => tag === 'rect' && child?.[0] === 'title');
    assert.deepEqual(found.map(([, { fill }]) => fill), [0, 255, 128, 64].map(step => lab.hex(theme.dark, 'sequential', step)));
    assert.equal(found[2][2][2], 'a, layer 2, head 1: 2 nats');
    assert.ok(texts(drawn).includes('Reads 256.'));
  }
  assert.deepEqual(lab.chartTable(squares).rows[1], ['a', 1, 2, 4]);
  // Of pairs, rows are heads too, and are called so.
  const told = spec => JSON.stringify(lab.chartPicture(spec, 700, lab.paper).nodes);
  assert.ok(told({ ...squares, pairs: true }).includes('a, heads 1 and 2: 4 nats'));
  assert.deepEqual(lab.chartTable({ ...squares, pairs: true }).columns, ['picture', 'head', 'other head', 'nats']);
});
