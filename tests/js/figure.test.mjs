// Tests of components/core/figure/spec.js: chart specifications fitted to the page, prepared for files, and as tables.

import assert from 'node:assert/strict';
import test from 'node:test';
import {
  figurePage,
  fitSpec,
  frameSpec,
  panelsBeside,
  positions,
  recolour,
  tableOf,
} from '../../components/core/figure/spec.js';

const CONFIG = { axis: { gridColor: '#000000' }, legend: { orient: 'top' } };
const panel = width => ({
  width,
  layer: [{ mark: 'line', encoding: { color: { legend: {}, scale: { domain: ['a', 'bcd'] } } } }],
});
const spec = (count = 1, more = {}) => ({
  $schema: 'schema',
  datasets: { rows0: [{ series: '#0068a8', x: 1, note: '' }], pointed0: [{ x: 1 }] },
  usermeta: {
    columns: 3,
    least: 200,
    table: [
      ['series', 'Series'],
      ['x', 'tokens'],
      ['note', 'note'],
    ],
  },
  params: [{ name: 'at', value: 1 }],
  ...(count > 1 ? { concat: Array.from({ length: count }, () => panel(9)) } : panel(9)),
  ...more,
});

test('a theme replaces colours, but no data', () => {
  const value = { mark: { color: '#0068a8' }, range: ['#0068a8', '#111111'], datasets: { a: ['#0068a8'] }, n: null };
  const expected = { mark: { color: '#fff' }, range: ['#fff', '#111111'], datasets: { a: ['#0068a8'] }, n: null };
  assert.deepEqual(recolour(value, { '#0068a8': '#fff' }), expected);
});

test('panels are in one row if each has its smallest width', () => {
  for (const [width, expected] of [
    [100, 1],
    [419, 1],
    [420, 2],
    [640, 3],
    [2000, 3],
  ])
    assert.equal(panelsBeside(spec(4), width), expected);
  assert.equal(panelsBeside(spec(2), 2000), 2);
  assert.equal(panelsBeside({}, 2000), 1);
});

test('all panels of a chart together have the available width', () => {
  const one = fitSpec(spec(), { width: 500, config: CONFIG, at: 7 });
  assert.deepEqual([one.width, one.autosize.type, one.params[0].value], [500, 'fit-x', 7]);
  const several = fitSpec(spec(4), { width: 640, config: CONFIG, narrower: 10 });
  assert.equal(several.columns, 3);
  // 640 px less two gaps of 20 px are 200 px for each of three panels, of which 64 px are axes
  assert.deepEqual(
    several.concat.map(({ width }) => width),
    [126, 126, 126, 126],
  );
  assert.equal(several.params[0].value, 1);
});

test('a legend has as many columns as its labels leave room for', () => {
  const columns = width => fitSpec(spec(), { width, config: CONFIG }).config.legend.columns;
  assert.deepEqual([columns(60), columns(160), columns(800)], [1, 2, 10]);
  assert.equal(fitSpec(spec(), { width: 60, config: CONFIG }).config.legend.orient, 'top');
});

test('a file has the title above, and explanation, citation and link below', () => {
  const framed = frameSpec(fitSpec(spec(2), { width: 700, config: CONFIG }), {
    title: 'Loss',
    about: ['One sentence.'],
    citation: 'Made with it.',
    link: 'https://e.org/?a=1',
    width: 700,
  });
  assert.deepEqual(framed.title.text, ['Loss']);
  const [chart, caption] = framed.vconcat;
  assert.equal(chart.concat.length, 2);
  assert.equal(chart.datasets, undefined);
  assert.deepEqual(Object.keys(framed.datasets), ['rows0', 'pointed0']);
  assert.deepEqual(
    caption.data.values.map(({ text }) => text),
    ['One sentence.', 'Made with it.', 'https://e.org/?a=1'],
  );
  assert.deepEqual(
    caption.data.values.map(({ link }) => link),
    [undefined, undefined, 'https://e.org/?a=1'],
  );
  assert.deepEqual(
    caption.data.values.map(({ place }) => place),
    [0, 17, 34],
  );
});

test('a table has the rows of all panels, without empty columns', () => {
  const both = spec(2);
  both.datasets.rows1 = [{ series: 'b', x: 0 }];
  assert.deepEqual(tableOf(both), {
    columns: ['Series', 'tokens'],
    rows: [
      ['#0068a8', 1],
      ['b', 0],
    ],
  });
});

test('as many columns of the legend as its longest label allows, by stroke as well as by colour', () => {
  const columns = (channel, names) => {
    const layer = [{ encoding: { [channel]: { legend: {}, scale: { domain: names } } } }];
    return fitSpec(spec(1, { layer }), { width: 400, config: CONFIG }).config.legend.columns;
  };
  assert.deepEqual([columns('color', ['ab', 'abcdefgh']), columns('stroke', ['ab', 'abcdefgh'])], [3, 3]);
  assert.equal(columns('stroke', ['一二三四五六七八九十']), 2); // a Chinese character is twice as wide
});

test('no text of a file ends its script or begins an element', () => {
  const hostile = '</script><img src=x>';
  const page = figurePage({
    spec: { text: hostile },
    title: hostile,
    table: { columns: [hostile], rows: [[hostile]] },
    heading: 'Table',
    script: `const a = '${hostile}';`,
    language: 'en',
  });
  assert.equal(page.split('</script>').length - 1, 2);
  assert.ok(!page.replace(/<script>.*?<\/script>/gs, '').includes('<img'));
  assert.ok(page.includes("default-src 'none'"));
});

test('positions are those of all lines, in order', () => {
  const datasets = {
    rows0: [
      { form: 'line', x: 16 },
      { form: 'line', x: 2 },
      { form: 'dot', x: 7 },
    ],
    rows1: [
      { form: 'line', x: 2 },
      { form: 'line', x: 4 },
    ],
    pointed0: [{ form: 'line', x: 5 }],
  };
  assert.deepEqual(positions({ datasets }), [2, 4, 16]);
  assert.deepEqual(positions({}), []);
});
