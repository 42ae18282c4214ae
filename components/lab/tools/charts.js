// Small charts of the tools: lines over a number, and a scatter of heads. Each is one SVG with its numbers as titles.

import { axisTicks } from '../../core/stage/tools.js';
import { make } from '../../widgets/dom.js';
import { svgElement } from '../../widgets/menu.js';

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [640, 126, 46, 110, 8, 22];
const DASHES = ['', '6 4', '2 3', '8 3 2 3', '1 4', '14 4'];
const COLOURS = ['accent', 'muted', 'against', 'ink', 'muted'];

/** Returns the colour and the dashes of a curve. */
export const lookOf = index => ({
  class: `curve ${COLOURS[index % COLOURS.length]}`,
  'stroke-dasharray': DASHES[index % DASHES.length],
});

/** Returns the functions from values to px of a chart of [x, y] points. */
function scales(points, log = false) {
  const [xs, ys] = [0, 1].map(axis => points.map(point => point[axis]));
  const [width, height] = [WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM];
  const across = log ? Math.log2 : value => value;
  const [x0, x1] = [Math.min(...xs), Math.max(...xs)].map(across);
  const [y0, y1] = [Math.min(...ys), Math.max(...ys)];
  return {
    x: value => LEFT + ((across(value) - x0) / (x1 - x0 || 1)) * width,
    y: value => TOP + (1 - (value - y0) / (y1 - y0 || 1)) * height,
    back: px => {
      const part = Math.max(0, Math.min(1, (px - LEFT) / width));
      const value = x0 + part * (x1 - x0);
      return log ? 2 ** value : value;
    },
    range: { x0: Math.min(...xs), x1: Math.max(...xs), y0, y1 },
  };
}

const text = (x, y, content, more = {}) => ['text', { x, y, ...more }, String(content)];

/** Creates the chart with its axes and its marks. */
function chart({ x, y, range }, { label, xTicks = axisTicks(range.x0, range.x1), xName, yName = '' }, ...marks) {
  return svgElement([
    'svg',
    {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      class: 'chart',
      preserveAspectRatio: 'xMinYMid',
      role: 'img',
      'aria-label': label,
    },
    ...axisTicks(range.y0, range.y1, 4).map(tick => [
      'g',
      {},
      ['line', { x1: LEFT, x2: WIDTH - RIGHT, y1: y(tick), y2: y(tick), class: 'scale' }],
      text(LEFT - 8, y(tick) + 4, tick, { 'text-anchor': 'end' }),
    ]),
    ...xTicks.map(tick => text(x(tick), HEIGHT - 5, tick, { 'text-anchor': 'middle' })),
    text(WIDTH - RIGHT + 18, HEIGHT - 5, xName),
    ...(yName ? [text(WIDTH - RIGHT + 18, TOP + 6, yName)] : []),
    ...marks,
  ]);
}

/** Creates a chart of lines; a drag moves the vertical line `cursor`. */
export function lines(curves, { label, xName, log, xTicks, cursor, marks = [], percent = false }) {
  const points = [...curves.flatMap(curve => curve.points), ...marks.map(({ x, y }) => [x, y])];
  const scale = scales(points, log);
  const { x, y } = scale;
  const svg = chart(
    scale,
    { label, xTicks, xName },
    ...curves.map((curve, index) => [
      'path',
      {
        ...lookOf(index),
        d: curve.points.map(([a, b], i) => `${i ? 'L' : 'M'}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join(''),
      },
      ['title', {}, curve.label],
    ]),
    ...endLabels(curves, y, percent).map(each => text(WIDTH - RIGHT + 6, each.y + 4, each.value)),
    ...marks.flatMap(mark => [
      ['circle', { cx: x(mark.x), cy: y(mark.y), r: 4.5, class: 'mark' }],
      text(x(mark.x) + 8, y(mark.y) - 6, mark.label, { class: 'strong' }),
    ]),
    ...(cursor
      ? [['line', { x1: x(cursor.at), x2: x(cursor.at), y1: TOP, y2: HEIGHT - BOTTOM, class: 'cursor' }]]
      : []),
  );
  if (cursor?.act) {
    svg.addEventListener('click', event => {
      const box = svg.getBoundingClientRect();
      cursor.act(scale.back(((event.clientX - box.left) / box.width) * WIDTH));
    });
    svg.style.cursor = 'ew-resize';
  }
  return svg;
}

const LINE = 14; // px from a number to the next one above it

/** Returns the last values of the curves with their heights, equal ones once, so that no two numbers overlap. */
export function endLabels(curves, y, percent) {
  const value = number => (percent ? `${(100 * number).toFixed(1)}%` : number.toFixed(2));
  const ends = new Map(curves.map(({ points }) => [value(points.at(-1)[1]), y(points.at(-1)[1])]));
  const ordered = [...ends].sort((one, other) => other[1] - one[1]);
  let free = HEIGHT - BOTTOM; // the name of the axis is below
  return ordered.map(([end, height], index) => {
    const at = Math.max(Math.min(height, free), TOP + LINE * (ends.size - 1 - index));
    free = at - LINE;
    return { y: at, value: end };
  });
}

/** Creates the key of a chart's curves; `act` makes each name a button. */
export const curveKey = (curves, chosen, act) =>
  make(
    'div.curve-key.wrap.fine',
    ...curves.map(({ key, label }, index) =>
      make(
        act ? 'button.inline' : 'span.inline',
        act ? { onclick: () => act(key), 'aria-pressed': key === chosen } : {},
        svgElement([
          'svg',
          { viewBox: '0 0 28 4', width: 28, height: 4, 'aria-hidden': 'true' },
          ['path', { d: 'M0 2h28', ...lookOf(index) }],
        ]),
        label,
      ),
    ),
  );

/** Creates a scatter of heads; a press selects one. The four outermost and the selected one have their names. */
export function scatter(heads, { label, xName, yName, selected, act }) {
  const scale = scales(heads.map(({ x, y }) => [x, y]));
  const named = new Set([...heads].sort((one, other) => other.y - one.y).slice(0, 3));
  const svg = chart(
    scale,
    { label, xName, yName },
    ...heads.map(head => {
      const [x, y] = [scale.x(head.x), scale.y(head.y)];
      const [side, anchor] = x > WIDTH - RIGHT - 40 ? [-1, 'end'] : [1, 'start']; // right of it, the axis has its name
      const isSelected = head.layer === selected.layer && head.head === selected.head;
      return [
        'g',
        { class: isSelected ? 'dot chosen' : 'dot', cursor: 'pointer', 'data-head': `${head.layer}.${head.head}` },
        ['title', {}, `${head.name}: ${xName} ${head.x.toFixed(3)}, ${yName} ${head.y.toFixed(3)}`],
        ['circle', { cx: x, cy: y, r: isSelected ? 7 : 4.5 }],
        ...(isSelected || named.has(head) ? [text(x + side * 10, y + 4, head.name, { 'text-anchor': anchor })] : []),
      ];
    }),
  );
  svg.addEventListener('click', event => {
    const place = event.target.closest('.dot')?.dataset.head;
    if (place) act(...place.split('.').map(Number));
  });
  return svg;
}
