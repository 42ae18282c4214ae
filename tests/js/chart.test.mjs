// core/axes.js, marks.js, lines.js, fields.js, chart.js: where values are in charts, what they say, and their tables.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hexColour } from '../../components/core/attention/scales.js';
import {
  bentTicks,
  createAxis,
  extent,
  formatValue,
  roundTicks,
  spreadLabels,
  thinTicks,
} from '../../components/core/chart/axes.js';
import { chartPicture, chartTable } from '../../components/core/chart/chart.js';
import { nearestLine, nearestValues, valuesAt } from '../../components/core/chart/lines.js';
import { seriesColour } from '../../components/core/chart/marks.js';
import { dotsInside, labelPositions, nearestDot, nextDot } from '../../components/core/chart/points.js';
import { pageData } from '../../components/core/page_data.js';
import { PAPER, textWidth, toPx } from '../../components/core/picture/svg.js';
import './harness.mjs';

const flat = node => (typeof node === 'string' ? [] : [node, ...node.slice(2).flatMap(flat)]);
const told = ({ nodes }) =>
  nodes
    .flatMap(flat)
    .filter(([tag]) => tag === 'title')
    .map(node => node[2]);
const texts = ({ nodes }) =>
  nodes
    .flatMap(flat)
    .filter(([tag]) => tag === 'text')
    .map(node => node[2]);
const dark = { ...PAPER, dark: true };

const SERIES = [
  { name: 'softmax', colour: 0, dash: 0 },
  { name: 'selective', colour: 1, dash: 1 },
];
const spec = (more = {}, panel = {}) => ({
  form: 'lines',
  x: { title: 'tokens', scale: 'log2' },
  series: SERIES,
  panels: [
    {
      title: 'Loss',
      unit: 'nats',
      lines: [
        {
          series: 0,
          points: [
            [32, 3, 0.5],
            [64, 2],
            [128, 1],
          ],
        },
        {
          series: 1,
          points: [
            [32, 2.5],
            [64, 2],
          ],
        },
      ],
      ...panel,
    },
  ],
  ...more,
});

test('ticks are round and inside', () => {
  assert.deepEqual(roundTicks(0, 1, 5), [0, 0.2, 0.4, 0.6, 0.8, 1]);
  assert.deepEqual(roundTicks(-0.31, 0.92, 3), [0, 0.5]);
  assert.deepEqual(roundTicks(3.31, 3.84, 4), [3.4, 3.6, 3.8]);
});

test('axes: powers of two at equal distances, bands in order, a single value in the middle', () => {
  const log = createAxis('log2', [32, 64, 512], 0, 100);
  assert.deepEqual([32, 64, 512].map(log), [0, 25, 100]);
  const band = createAxis('band', [96, 6, 24], 10, 30);
  assert.deepEqual([6, 24, 96].map(band), [10, 20, 30]);
  assert.equal(createAxis('linear', [5], 0, 10)(5), 5);
  assert.deepEqual(extent([2, 2]).low < 2, true);
  assert.equal(extent([1, 2], true).low, 0);
});

test('labels keep apart, in order, and inside', () => {
  assert.deepEqual(spreadLabels([50, 10], 16, 0, 100), [50, 10]);
  assert.deepEqual(spreadLabels([50, 51, 52], 16, 0, 200), [50, 66, 82]);
  assert.deepEqual(spreadLabels([99, 98], 16, 0, 100), [100, 84]);
  const ticks = thinTicks([16, 32, 64, 128, 256], x => x, String);
  assert.equal(ticks.at(-1), 256);
  assert.ok(!ticks.includes(16) || !ticks.includes(32));
});

test('values', () => {
  assert.equal(formatValue(0.34567, true), '34.6%');
  assert.equal(formatValue(2.34567), '2.346');
  assert.equal(formatValue(-2), '−2');
  assert.equal(formatValue(-0.0034, true), '−0.3%');
});

test('the scale is of the lines, with their spread: a text in the box does not flatten them', () => {
  const rings = [{ series: 0, x: 19, y: 90, note: 'the text' }];
  const [plain, ringed] = [chartPicture(spec(), 700, PAPER), chartPicture(spec({}, { rings }), 700, PAPER)];
  const heights = ({ plots: [{ marks }] }) => marks.flatMap(({ points }) => points.map(({ y }) => y));
  assert.deepEqual(heights(ringed), heights(plain));
  assert.ok(ringed.plots[0].toX(19) >= ringed.plots[0].box.x); // and has its place beside them
  assert.ok(texts(ringed).includes('90')); // with its number, at the edge
  assert.ok(told(ringed).includes('softmax, tokens 19: 90, the text'));
  const [{ box }] = plain.plots;
  for (const y of heights(plain)) assert.ok(y >= box.y && y <= box.y + box.height);
});

test('lines are named at their ends where there is room, above where there is none, and once', () => {
  const [wide, narrow] = [700, 300].map(width => chartPicture(spec(), width, PAPER));
  for (const drawn of [wide, narrow])
    for (const { name } of SERIES) assert.equal(texts(drawn).filter(text => text === name).length, 1);
  const right = ({ nodes }) =>
    Math.max(
      ...nodes
        .flatMap(flat)
        .filter(([tag, , text]) => tag === 'text' && text === 'softmax')
        .map(([, { x }]) => x),
    );
  assert.ok(right(wide) > wide.plots[0].box.x + wide.plots[0].box.width);
  assert.ok(right(narrow) < 100);
  const several = chartPicture(
    spec({ panels: [...spec().panels, ...spec().panels], keyed: true, columns: 2 }),
    900,
    PAPER,
  );
  assert.equal(texts(several).filter(text => text === 'softmax').length, 1);
});

test('a series has its colour in both themes, and dashes with it', () => {
  const strokes = drawn =>
    drawn.nodes
      .flatMap(flat)
      .filter(([tag, { fill }]) => tag === 'path' && fill === 'none')
      .map(([, a]) => [a.stroke, a['stroke-dasharray']]);
  const { light, dark: other } = pageData.colours;
  assert.deepEqual(strokes(chartPicture(spec(), 300, PAPER)), [
    [light.series[0], undefined],
    [light.series[1], '7 4'],
  ]);
  assert.equal(strokes(chartPicture(spec(), 300, dark))[1][0], other.series[1]);
});

test('what is pointed at: the nearest place, with every line that has a value there', () => {
  const { plots } = chartPicture(spec(), 700, PAPER);
  const [{ box, toX }] = plots;
  const near = nearestValues(plots, toX(64) + 3, box.y + 5);
  assert.equal(near.x, 64);
  assert.deepEqual(
    near.values.map(({ name, point }) => [name, point.value[1]]),
    [
      ['softmax', 2],
      ['selective', 2],
    ],
  );
  assert.deepEqual(
    nearestValues(plots, toX(128), box.y + 5).values.map(({ name }) => name),
    ['softmax'],
  );
  assert.equal(nearestValues(plots, -50, box.y), null);
});

test('files say every point, however many there are', () => {
  const points = Array.from({ length: 100 }, (_, i) => [i + 1, i]);
  const many = spec({ x: { title: 'query', scale: 'linear' }, panels: [{ lines: [{ series: 0, points }] }] });
  assert.equal(told(chartPicture(many, 700, PAPER)).length, 0);
  assert.equal(told(chartPicture(many, 700, PAPER, true)).length, 100);
});

test('tables hold what is drawn', () => {
  const table = chartTable(spec({}, { rings: [{ series: 1, x: 19, y: 9, note: 'typed' }] }));
  assert.deepEqual(table.columns, ['picture', 'line', 'tokens', 'value', 'spread', 'note']);
  assert.equal(table.rows.length, 6);
  assert.deepEqual(table.rows[0], ['Loss', 'softmax', 32, 3, 0.5, '']);
  assert.deepEqual(table.rows[5], ['Loss', 'selective', 19, 9, '', 'typed']);
});

const DOTS = {
  form: 'dots',
  x: { title: 'ratio' },
  rows: ['random', 'dense'],
  series: [
    { name: 'source', colour: 'accent', dash: 1 },
    { name: 'here', colour: 'ink', dash: 0 },
  ],
  points: [
    [0, 0, 1.25],
    [0, 1, 1.5],
    [1, 1, 1.125],
    [1, 1, 1.0],
  ],
  rule: { at: 1, label: 'softmax' },
};

test('dots: a row a name, more to the right, a number beside what stands alone', () => {
  const drawn = chartPicture(DOTS, 640, PAPER);
  assert.deepEqual(told(drawn), ['random, source: 1.25', 'random, here: 1.5', 'dense, here: 1.125', 'dense, here: 1']);
  const at = drawn.nodes
    .filter(([tag, , child]) => tag === 'path' && child?.[0] === 'title')
    .map(([, { transform }]) => transform.match(/[\d.]+/g).map(Number));
  assert.ok(at[1][0] > at[0][0] && at[0][0] > at[2][0]);
  assert.ok(at[2][1] > at[1][1]);
  assert.ok(texts(drawn).includes('1.25') && !texts(drawn).includes('1.125'));
  assert.deepEqual(chartTable(DOTS).rows[2], ['dense', 'here', 1.125]);
});

test('a title has as many lines as it needs, and what follows stands below them', () => {
  const long = { ...DOTS, x: { title: 'perplexity divided by that of softmax, twice the heads' } };
  const [wide, narrow] = [900, 340].map(width => chartPicture(long, width, PAPER));
  const lines = texts(narrow).slice(0, 2);
  assert.equal(lines.join(' '), long.x.title);
  assert.ok(lines.every(line => textWidth(line, 15) <= 340 - 44)); // beside what takes the picture away
  assert.equal(texts(wide)[0], long.x.title);
  assert.equal(narrow.height - chartPicture(DOTS, 340, PAPER).height, 17);
});

test('no rule runs through a number or a name', () => {
  const close = {
    ...DOTS,
    points: [
      [0, 0, 0.995],
      [1, 0, 1.25],
    ],
    rule: { at: 1, label: 'softmax' },
  };
  const nodes = chartPicture(close, 640, PAPER).nodes;
  const at = nodes.find(([tag, a]) => tag === 'line' && a['stroke-dasharray'] === '3 3')[1].x1;
  const number = nodes.find(([tag, , text]) => tag === 'text' && text === '0.995')[1];
  assert.ok(Number(number.x) + textWidth('0.995', 11) < Number(at));
  // Of lines: where they leave room, and no two names on one place.
  const flatLines = [
    {
      series: 0,
      points: [
        [32, 2.15],
        [128, 2.15],
      ],
    },
    {
      series: 1,
      points: [
        [32, 0],
        [128, 3],
      ],
    },
  ];
  const rules = [
    { y: 2, label: 'source, all heads' },
    { y: 1.95, label: 'another one' },
  ];
  const drawn = chartPicture(spec({}, { lines: flatLines, rules }), 700, PAPER);
  const [{ marks, box }] = drawn.plots;
  const names = drawn.nodes.filter(([tag, , text]) => tag === 'text' && rules.some(({ label }) => label === text));
  const boxes = names.map(([, { x, y }, text]) => [
    Number(x),
    Number(y) - 11,
    Number(x) + textWidth(text, 11),
    Number(y) + 3,
  ]);
  assert.equal(boxes.length, 2);
  for (const [left, top, right, bottom] of boxes) {
    assert.ok(left >= box.x && right <= box.x + box.width);
    for (const {
      points: [from, to],
    } of marks)
      for (let part = 0; part <= 1; part += 0.01) {
        const [x, y] = [from.x + part * (to.x - from.x), from.y + part * (to.y - from.y)];
        assert.ok(!(x > left && x < right && y > top && y < bottom));
      }
  }
  const [one, other] = boxes;
  assert.ok(one[2] <= other[0] || other[2] <= one[0] || one[3] <= other[1] || other[3] <= one[1]);
});

test('a ring keeps clear of the numbers of the scales', () => {
  const rings = [
    { series: 0, x: 8, y: 1.6, note: 'the text' },
    { series: 0, x: 300, y: -90, note: 'another' },
    { series: 1, x: 300, y: -91, note: 'a third' },
  ];
  const drawn = chartPicture(spec({}, { rings }), 700, PAPER);
  const [{ box }] = drawn.plots;
  const circles = drawn.nodes.filter(([tag, { r }]) => tag === 'circle' && r === 6);
  assert.equal(circles.length, 3);
  assert.ok(Number(circles[2][1].cy) - circles[1][1].cy >= 16); // none hides another one; what is farther out stands there
  for (const [, { cx, cy }] of circles) {
    assert.ok(cx - 7.5 >= box.x && Number(cx) + 7.5 <= box.x + box.width);
    assert.ok(cy - 7.5 >= box.y && Number(cy) + 7.5 <= box.y + box.height);
  }
});

test('a unit stands behind its title, or below it where there is no room', () => {
  const place = (width, text) => {
    const panels = [{ ...spec().panels[0], title: 'What a customer wants', unit: 'accuracy' }];
    const { nodes } = chartPicture(spec({ panels, keyed: true }), width, PAPER);
    const [, { x, y }] = nodes.find(([tag, , said]) => tag === 'text' && said === text);
    return [Number(x), Number(y)];
  };
  const [title, unit] = ['What a customer wants', 'accuracy'];
  assert.equal(place(400, unit)[1], place(400, title)[1]);
  assert.ok(place(400, unit)[0] > place(400, title)[0] + textWidth(title, 14));
  assert.equal(place(230, unit)[0], place(230, title)[0]);
  assert.ok(place(230, unit)[1] >= place(230, title)[1] + 14);
});

test('of two rings at one place none hides the other', () => {
  const rings = [0, 1].map(series => ({ series, x: 64, y: 2.5, note: 'alike' }));
  const drawn = chartPicture(spec({}, { rings }), 700, PAPER);
  const [one, other] = drawn.nodes.filter(([tag, { r }]) => tag === 'circle' && r === 6);
  assert.equal(one[1].cy, other[1].cy);
  assert.ok(other[1].cx - one[1].cx >= 12);
});

test('squares: one a head, in the theme’s colours; a model without numbers says why', () => {
  const squares = {
    form: 'squares',
    unit: 'nats',
    most: 4,
    panels: [
      {
        title: 'a',
        values: [
          [0, 4],
          [2, 1],
        ],
      },
      { title: 'b', note: 'Reads 256.' },
    ],
  };
  for (const theme of [PAPER, dark]) {
    const drawn = chartPicture(squares, 700, theme);
    const found = drawn.nodes.filter(([tag, , child]) => tag === 'rect' && child?.[0] === 'title');
    assert.deepEqual(
      found.map(([, { fill }]) => fill),
      [0, 255, 128, 64].map(step => hexColour(theme.dark, 'sequential', step)),
    );
    assert.equal(found[2][2][2], 'a, layer 2, head 1: 2 nats');
    assert.ok(texts(drawn).includes('Reads 256.'));
  }
  assert.deepEqual(chartTable(squares).rows[1], ['a', 1, 2, 4]);
  // Of pairs, rows are heads too, and are called so.
  const told = spec => JSON.stringify(chartPicture(spec, 700, PAPER).nodes);
  assert.ok(told({ ...squares, pairs: true }).includes('a, heads 1 and 2: 4 nats'));
  assert.deepEqual(chartTable({ ...squares, pairs: true }).columns, ['picture', 'head', 'other', 'nats']);
  const single = { ...squares, panels: [{ title: 'c', values: [[0], [4], [2]] }] }; // one head a layer: a row of layers
  const row = chartPicture(single, 700, PAPER).nodes.filter(
    ([tag, , child]) => tag === 'rect' && child?.[0] === 'title',
  );
  assert.equal(new Set(row.map(([, { y }]) => y)).size, 1);
  assert.equal(row[1][2][2], 'c, layer 2, head 1: 4 nats');
});

test('a bent axis has room for small values and for large ones, and ticks for both', () => {
  const toY = createAxis('bent', [], 0, 100, { low: 0, high: 10 }, 0.1);
  assert.equal(toY(0), 0);
  assert.ok(Math.abs(toY(10) - 100) < 1e-9);
  assert.ok(toY(0.1) > 10 && toY(1) < 60 && toY(1) > toY(0.1));
  assert.deepEqual(bentTicks(-0.5, 10, 0.1), [0, 0.1, 0.3, 1, 3, 10]);
});

test('small panels of one scale have its numbers at the edge, each its title, and all their lines', () => {
  const panels = ['a', 'b', 'c', 'd', 'e'].map(title => ({
    title,
    lines: [
      {
        series: 0,
        points: [
          [1, 0],
          [9, 2],
        ],
      },
    ],
  }));
  const drawn = chartPicture(spec({ panels, together: true, columns: 4, least: 100, height: 90 }), 480, PAPER);
  assert.equal(texts(drawn).filter(text => text === '2').length, 2); // two rows
  assert.equal(texts(drawn).filter(text => text === 'tokens').length, 4); // under the last panel of each column
  assert.deepEqual(
    texts(drawn).filter(text => 'abcde'.includes(text)),
    ['a', 'b', 'c', 'd', 'e'],
  );
  assert.equal(drawn.plots.length, 5);
  for (const { box } of drawn.plots) assert.ok(box.x + box.width <= 480 && box.y + box.height <= drawn.height);
});

test('names of rows are whole, on two lines where one has no room', () => {
  const rows = ['whole model, 8 texts of 128 tokens, against softmax', 'dense'];
  const drawn = chartPicture({ ...DOTS, rows }, 560, PAPER);
  const said = texts(drawn).join(' ');
  assert.ok(said.includes('whole model, 8') && said.includes('against softmax') && !said.includes('…'));
});

const GROUPS = {
  form: 'groups',
  series: [
    { name: 'helps', letters: 'he', colour: 0 },
    { name: 'disturbs', letters: 'di', colour: 1 },
  ],
  panels: [
    {
      title: 'self',
      groups: [
        [0, 1],
        [1, 1],
      ],
      told: [
        ['a', 'b'],
        ['c', 'd'],
      ],
    },
  ],
};

test('groups: a square a head in its group’s colour, with its letters', () => {
  for (const theme of [PAPER, dark]) {
    const drawn = chartPicture(GROUPS, 480, theme);
    const found = drawn.nodes.filter(([tag, , child]) => tag === 'rect' && child?.[0] === 'title');
    assert.deepEqual(
      found.map(([, { fill }]) => fill),
      [0, 1, 1, 1].map(index => seriesColour(index, theme)),
    );
    assert.deepEqual(
      found.map(node => node[2][2]),
      ['a', 'b', 'c', 'd'],
    );
    assert.equal(texts(drawn).filter(text => text === 'di').length, 3);
  }
  assert.deepEqual(chartTable(GROUPS).rows[1], ['self', 1, 2, 'disturbs', 'b']);
});

test('gates: a place a token and head, full where it is open, in any width', () => {
  const rows = ['start', ' <b>', ' it'];
  const gates = {
    form: 'gates',
    unit: 'gate',
    rows,
    panels: [
      {
        title: 'layer 1',
        values: [
          [0, 0.5, 1],
          [1, 1, 0],
        ],
      },
    ],
  };
  const drawn = chartPicture(gates, 400, dark);
  const found = drawn.nodes.filter(([tag, , child]) => tag === 'rect' && child?.[0] === 'title');
  assert.deepEqual(
    found.map(([, { fill }]) => fill),
    [0, 128, 255, 255, 255, 0].map(step => hexColour(true, 'sequential', step)),
  );
  assert.equal(found[1][2][2], '“<b>”, layer 1, head 1: gate 0.500');
  assert.deepEqual(texts(drawn).slice(3, 6), ['start', '<b>', 'it']);
  assert.deepEqual(chartTable(gates).rows[5], [3, ' it', 'layer 1', 2, 0]);
  const long = {
    ...gates,
    rows: Array(128).fill('word'),
    panels: [{ title: 'layer 1', values: [Array(128).fill(1)] }],
  };
  const labels = texts(chartPicture(long, 400, PAPER)).filter(text => text === 'word');
  assert.ok(labels.length > 20 && labels.length < 64); // none upon another
});

const POINTS = {
  form: 'points',
  x: { title: 'confidence' },
  y: { title: 'loss' },
  series: [{ name: 'self', colour: 0, dash: 0 }],
  points: [
    [0.1, 1, 0, '1.1', false],
    [0.9, 2, 0, '1.2', true],
    [0.5, 3, 0, '1.3', false],
    [0.5, 3, 0, '1.4', false],
  ],
  chosen: 2,
  picked: [1],
  height: 300,
};

test('points: one a head where its values say, a ring around the chosen one, hollow where a plan touches it', () => {
  const drawn = chartPicture(POINTS, 600, PAPER);
  assert.deepEqual(told(drawn).slice(0, 2), ['1.1: confidence 0.1, loss 1', '1.2: confidence 0.9, loss 2']);
  const [one, two, three] = drawn.dots;
  assert.ok(one.x < three.x && three.x < two.x && one.y > two.y && two.y > three.y);
  const rings = drawn.nodes.filter(([tag]) => tag === 'circle');
  assert.deepEqual(
    rings.map(([, { cx }]) => Number(cx)),
    [Number(toPx(three.x))],
  );
  const fills = drawn.nodes
    .filter(([tag, , child]) => tag === 'path' && child?.[0] === 'title')
    .map(([, { fill }]) => fill);
  assert.equal(fills[1], PAPER.ground);
  assert.notEqual(fills[0], PAPER.ground);
  assert.deepEqual(chartTable(POINTS).rows[1], ['1.2', 'self', 0.9, 2, 'yes']);
});

test('names stand beside their points and upon nothing; those without room are left out', () => {
  const dots = [{ x: 100, y: 100 }, { x: 104, y: 100 }, { x: 300, y: 50 }, ...Array(12).fill({ x: 102, y: 101 })];
  const names = dots.map((_, index) => `3.${index}`);
  const places = labelPositions(dots, names, { x: 0, width: 400 });
  assert.deepEqual(places[2], { x: 300, y: 41, anchor: 'middle' });
  const boxes = places.flatMap((place, index) => {
    if (!place) return [];
    const wide = textWidth(names[index], 11);
    const left = place.x - { middle: wide / 2, start: 0, end: wide }[place.anchor];
    return [[left, left + wide, place.y]];
  });
  assert.ok(boxes.length >= 3 && boxes.length < dots.length);
  for (const [i, a] of boxes.entries())
    for (const b of boxes.slice(i + 1)) assert.ok(a[1] <= b[0] || b[1] <= a[0] || Math.abs(a[2] - b[2]) >= 10);
});

test('picking: what a rectangle holds, the nearest within reach, the next one in a direction', () => {
  const dots = [
    { x: 10, y: 10 },
    { x: 50, y: 12 },
    { x: 90, y: 80 },
  ];
  assert.deepEqual(dotsInside(dots, [60, 20], [0, 0]), [0, 1]);
  assert.deepEqual(dotsInside(dots, [60, 60], [70, 70]), []);
  assert.equal(nearestDot(dots, 52, 12, 14), 1);
  assert.equal(nearestDot(dots, 70, 40, 14), -1);
  assert.equal(nextDot(dots, 0, 1, 0), 1);
  assert.equal(nextDot(dots, 0, 0, 1), 2);
  assert.equal(nextDot(dots, 0, -1, 0), 0);
});

test('the line that a pointer is at, between its points too, and none far from all', () => {
  const {
    plots: [plot],
  } = chartPicture(spec(), 700, PAPER);
  const [
    {
      points: [first, second],
    },
    {
      points: [other],
    },
  ] = plot.marks;
  assert.equal(nearestLine(plot, first.x, first.y + 2), 0);
  assert.equal(nearestLine(plot, other.x, other.y - 2), 1);
  assert.equal(nearestLine(plot, first.x + 0.3 * (second.x - first.x), first.y + 0.3 * (second.y - first.y)), 0);
  assert.equal(nearestLine(plot, first.x, first.y - 40), null);
});

test('what is told of a place stands in the order of its lines, the highest first', () => {
  const lines = [
    { series: 0, points: [[32, 1]] },
    { series: 1, points: [[32, 3]] },
  ];
  const { plots } = chartPicture(spec({}, { lines }), 700, PAPER);
  assert.deepEqual(
    valuesAt(plots[0], 32).map(({ name }) => name),
    ['selective', 'softmax'],
  );
});

test('a quiet line is thin, has no forms, and says its points in files all the same', () => {
  const quiet = spec({ series: [SERIES[0], { ...SERIES[1], quiet: true }] });
  const drawn = every => chartPicture(quiet, 700, PAPER, every).nodes.flatMap(flat);
  const widths = drawn(false)
    .filter(([tag, { fill }]) => tag === 'path' && fill === 'none')
    .map(([, its]) => its['stroke-width']);
  assert.deepEqual(widths.slice(0, 2), [2.5, 1.5]);
  const of = every => told({ nodes: drawn(every).filter(([, its]) => its['data-series'] === 1) }).length;
  assert.deepEqual([of(false), of(true)], [0, 2]);
});
