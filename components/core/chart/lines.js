// Charts of lines, in panels: one quantity against another, a line for each series, named at its end.

import { fitText, textWidth, toPx, wrapText } from '../picture/svg.js';
import {
  bentTicks,
  createAxis,
  extent,
  formatValue,
  freestPosition,
  roundTicks,
  spreadLabels,
  thinTicks,
} from './axes.js';
import { backedText, dashAttributes, marker, seriesColour, seriesKey } from './marks.js';

const [LEFT, TOP, BOTTOM, RIGHT] = [50, 12, 42, 16]; // margins in px around a plot, without its title and its labels
const TITLE = 24;
const LINE = 15; // height in px of each further line of the scale's title
const UNIT = 17; // additional height in px if a unit is below its title
const APART = 16; // smallest distance in px between two labels
const MENU = 120; // width in px beside the names above, where the page has its menu
const LEAST = 330; // width of the smallest panel in px
const SAMPLE = 18; // length in px of a line sample beside its name
const NARROW = 230; // width of a plot in px below which its lines are not named at their ends
const QUIET = 0.6; // opacity of a line that others are compared with
const NEAR = 14; // distance in px from a line within which the pointer is on the line
const MANY = 24; // number of points above which a line has no marks
const INSET = 9; // distance in px between a ring and the edge of its plot, where the scale's numbers are

/** Returns the text of a point. */
const told = ({ name }, spec, panel, [x, y, spread, note]) =>
  `${name}, ${spec.x.title} ${formatValue(x)}: ${formatValue(y, panel.percent)}` +
  `${spread ? ` ± ${formatValue(spread, panel.percent)}` : ''}${note ? `, ${note}` : ''}`;

const pointsOf = ({ lines, seeds = [] }) => [
  ...lines.flatMap(({ points }) => points),
  ...seeds.map(({ x, y }) => [x, y]),
];

function domain(panels, spec, panel) {
  const shown = spec.together ? panels : [panel];
  const values = shown.flatMap(pointsOf).flatMap(([, y, spread]) => [y - (spread ?? 0), y + (spread ?? 0)]);
  const rules = shown.flatMap(({ rules = [] }) => rules.filter(({ y }) => y !== undefined).map(({ y }) => y));
  return extent([...values, ...rules], spec.zero);
}

/**
 * Returns {width, height, nodes, plots}: plots are for the pointer, see nearestValues. `every`: each point has a
 * tooltip.
 */
export function linesChart(spec, width, theme, every) {
  if (spec.together && spec.panels.length > 1) return small(spec, width, theme, every);
  const across = Math.max(
    1,
    Math.min(spec.columns ?? 1, Math.floor((width + 20) / (spec.least ?? LEAST)), spec.panels.length),
  );
  const each = (width - 24 * (across - 1)) / across;
  const labels = Math.min(235, Math.max(...spec.series.map(({ name }) => 1.17 * textWidth(name, 13)))) + SAMPLE + 16;
  const direct = !spec.keyed && spec.series.length > 1 && each - LEFT - labels >= NARROW;
  const key = direct || spec.series.length < 2 ? { height: 0, nodes: [] } : seriesKey(spec.series, width - MENU, theme);
  const nodes = [...key.nodes];
  const plots = [];
  let y = key.height;
  // If a unit does not fit behind its title, all units are below their titles.
  const isTight = ({ title, unit = '' }) => title && unit && behind({ title }) + 1.1 * textWidth(unit, 12) > each;
  const below = spec.panels.some(isTight) ? UNIT : 0;
  const heading = spec.panels.some(({ title, unit }) => title || unit) ? TITLE + below : 0;
  const wide = each - LEFT - (direct ? labels : RIGHT);
  const more = LINE * (scaleTitle(spec, wide).length - 1);
  const tall = spec.height ?? 240;
  spec.panels.forEach((panel, index) => {
    const column = index % across;
    if (index && !column) y += tall + TITLE + below + 8 + more;
    const box = {
      x: column * (each + 24) + LEFT,
      y: y + TOP + (panel.title || panel.unit ? heading : 0),
      width: wide,
      height: tall - TOP - BOTTOM,
      below,
    };
    const plot = drawn(spec, panel, box, theme, every, direct);
    nodes.push(...plot.nodes);
    plots.push(plot);
  });
  return { width, height: y + tall + heading + more, nodes, plots };
}

/** Returns the lines of the title below a plot, which may be slightly wider than the plot. */
const scaleTitle = (spec, wide) => wrapText(spec.x.title, wide + 2 * RIGHT, 12);

const [EDGE, BETWEEN] = [28, 14]; // px beside and between small panels with a common scale

/** Draws many small panels with a common scale, whose numbers are only at the outer edges. */
function small(spec, width, theme, every) {
  const key = spec.series.length < 2 ? { height: 0, nodes: [] } : seriesKey(spec.series, width - MENU, theme);
  const across = Math.max(1, Math.min(spec.columns, Math.floor((width - EDGE) / spec.least), spec.panels.length));
  const wide = (width - EDGE - BETWEEN * across) / across;
  const tall = TITLE + spec.height + BETWEEN;
  const plots = spec.panels.map((panel, index) => {
    const [column, row] = [index % across, Math.floor(index / across)];
    const box = {
      x: EDGE + column * (wide + BETWEEN),
      y: key.height + row * tall + TITLE,
      width: wide,
      height: spec.height,
    };
    return drawn(spec, panel, box, theme, every, false, { left: !column, below: index + across >= spec.panels.length });
  });
  const rows = Math.ceil(spec.panels.length / across);
  return {
    width,
    height: key.height + rows * tall + BOTTOM - BETWEEN,
    nodes: [...key.nodes, ...plots.flatMap(({ nodes }) => nodes)],
    plots,
  };
}

/** Draws a panel. `edges`: whether it has the scales' numbers at the left and below, and not another panel. */
function drawn(spec, panel, box, theme, every, direct, edges = null) {
  const { ink, faint, line } = theme;
  const [titled, over] = edges ? [box.x, box.y - 6] : [box.x - LEFT, box.y - TOP - 6];
  const limits = domain(spec.panels, spec, panel);
  const xs = [...new Set(spec.panels.flatMap(pointsOf).map(([x]) => x))].sort((a, b) => a - b);
  // the input text may be shorter or longer than the measured texts
  const beside = spec.panels.flatMap(({ rings = [] }) => rings.map(({ x }) => x));
  const wide =
    spec.x.scale === 'band' ? null : { low: Math.min(xs[0], ...beside), high: Math.max(xs.at(-1), ...beside) };
  const inset = beside.length ? INSET : 0;
  const toX = createAxis(spec.x.scale, xs, box.x + inset, box.x + box.width - inset, wide);
  const toY = createAxis(spec.bent ? 'bent' : 'linear', [], box.y + box.height, box.y, limits, spec.bent);
  const levels = spec.bent
    ? bentTicks(limits.low, limits.high, spec.bent)
    : roundTicks(limits.low, limits.high, Math.max(2, box.height / 50));
  const bottom = box.y + box.height;
  const word = (text, x, y, attributes) => [
    'text',
    { x: toPx(x), y: toPx(y), 'font-size': 12, fill: faint, ...attributes },
    text,
  ];
  const ticks = spec.x.scale === 'linear' ? roundTicks(xs[0], xs.at(-1), 5) : xs;
  const nodes = [
    ...(panel.title
      ? [
          word(panel.title, titled, over - (box.below ?? 0), {
            'font-size': 14,
            'font-weight': 600,
            fill: panel.marked ? theme.accent : ink,
            ...(panel.marked ? { 'text-decoration': 'underline' } : {}),
          }),
        ]
      : []),
    ...levels.flatMap(tick => [
      ['line', { x1: box.x, x2: toPx(box.x + box.width), y1: toPx(toY(tick)), y2: toPx(toY(tick)), stroke: line }],
      ...(edges && !edges.left
        ? []
        : [word(formatValue(tick, panel.percent), box.x - 7, toY(tick) + 4, { 'text-anchor': 'end' })]),
    ]),
    ...(edges && !edges.below ? [] : thinTicks(ticks, toX, formatValue)).map(tick =>
      word(formatValue(tick), toX(tick), bottom + 17, { 'text-anchor': 'middle' }),
    ),
    ...(edges && !edges.below ? [] : edges ? [spec.x.title] : scaleTitle(spec, box.width)).map((text, i) =>
      word(text, box.x + box.width / 2, bottom + 35 + LINE * i, { 'text-anchor': 'middle' }),
    ),
    ...(panel.unit ? [word(panel.unit, titled + (box.below ? 0 : behind(panel)), over, {})] : []),
    ...(panel.rules ?? []).map(rule => ruled(rule, box, toX, toY, theme)),
  ];
  const marks = panel.lines.map(({ series, points }) => {
    const one = spec.series[series];
    const stroke = seriesColour(one.colour, theme);
    const path = points.map(([x, y], i) => `${i ? 'L' : 'M'}${toPx(toX(x))} ${toPx(toY(y))}`).join('');
    const thin = one.quiet || one.colour === 'faint';
    const its = /** @type {any[]} */ ([
      [
        'path',
        {
          d: path,
          fill: 'none',
          stroke,
          'stroke-width': thin ? 1.5 : 2.5,
          'stroke-linejoin': 'round',
          ...dashAttributes(one.dash ?? 0),
        },
      ],
    ]);
    for (const [x, y, spread] of points)
      if (spread)
        its.push([
          'line',
          {
            x1: toPx(toX(x)),
            x2: toPx(toX(x)),
            y1: toPx(toY(y - spread)),
            y2: toPx(toY(y + spread)),
            stroke,
            'stroke-width': 1.5,
          },
        ]);
    const few = points.length <= MANY && one.kind !== 'plain' && !one.quiet;
    if (few || every)
      for (const point of points)
        its.push(
          marker(few ? (one.dash ?? 0) : 0, toX(point[0]), toY(point[1]), { fill: few ? stroke : 'transparent' }, [
            'title',
            {},
            told(one, spec, panel, point),
          ]),
        );
    nodes.push(['g', { 'data-series': series, ...(one.quiet ? { opacity: QUIET } : {}) }, ...its]);
    return {
      series,
      stroke,
      name: one.name,
      dash: one.dash ?? 0,
      points: points.map(point => ({ x: toX(point[0]), y: toY(point[1]), value: point })),
    };
  });
  for (const { series, x, y, note } of panel.seeds ?? []) {
    const stroke = seriesColour(spec.series[series].colour, theme);
    const words = ['title', {}, told(spec.series[series], spec, panel, [x, y, null, note])];
    nodes.push([
      'circle',
      { cx: toPx(toX(x)), cy: toPx(toY(y)), r: 3.5, fill: theme.ground, stroke, 'stroke-width': 1.5 },
      words,
    ]);
  }
  const taken = []; // boxes of the texts between the lines
  const rings = ringed(spec, panel, box, toX, toY, marks, taken, theme);
  nodes.push(...ruleNames(panel.rules ?? [], box, toX, toY, marks, taken, theme), ...rings);
  if (direct) nodes.push(...named(marks, box, theme));
  return { nodes, box, marks, xs, toX };
}

/** Returns px from the start of a panel's title to the unit behind it. */
const behind = ({ title }) => (title ? 1.18 * textWidth(title, 14) + 10 : 0);

function ruled({ x, y, dashed }, box, toX, toY, { faint }) {
  const style = { stroke: faint, 'stroke-width': 1.5, ...(dashed ? { 'stroke-dasharray': '4 3' } : {}) };
  if (x !== undefined)
    return ['line', { x1: toPx(toX(x)), x2: toPx(toX(x)), y1: box.y, y2: box.y + box.height, ...style }];
  return ['line', { x1: box.x, x2: toPx(box.x + box.width), y1: toPx(toY(y)), y2: toPx(toY(y)), ...style }];
}

const SMALL = 11; // font size of a rule's name in px

/** Draws the names of rules beside them, with a background if there are lines everywhere. */
const ruleNames = (rules, box, toX, toY, marks, taken, theme) =>
  rules
    .filter(({ label }) => label)
    .flatMap(({ x, y, label }) => {
      const wide = textWidth(label, SMALL);
      const places =
        x !== undefined
          ? [11, 25, box.height - 6, box.height - 20].flatMap(down =>
              [toX(x) + 5, toX(x) - 5 - wide].map(left => [left, box.y + down]),
            )
          : [-5, 14].flatMap(down =>
              [0, 1, 0.5, 0.25, 0.75].map(part => [box.x + 5 + part * (box.width - wide - 10), toY(y) + down]),
            );
      return backedText(label, ...freestPosition(label, SMALL, places, box, marks, taken), SMALL, theme, {
        fill: theme.faint,
      });
    });

/** Draws single values beside the lines. Values outside the plot are at its edge, with an arrow and their numbers. */
function ringed(spec, panel, box, toX, toY, marks, taken, theme) {
  const [low, high] = [box.y, box.y + box.height];
  const rings = (panel.rings ?? []).map(ring => {
    const one = spec.series[ring.series];
    const wanted = toY(ring.y);
    const out = wanted < low ? -1 : wanted > high ? 1 : 0;
    const py = Math.min(high - INSET, Math.max(low + INSET, wanted));
    return { ...ring, one, stroke: seriesColour(one.colour, theme), px: toX(ring.x), py, out };
  });
  // Points outside the chart are drawn at its edge, side by side, so that none hides another.
  for (const edge of [-1, 1]) {
    const beyond = rings.filter(({ out }) => out === edge).sort((one, other) => edge * (toY(other.y) - toY(one.y)));
    beyond.forEach((ring, i) => Object.assign(ring, { py: ring.py - edge * 17 * i, isLast: !i }));
  }
  rings.forEach((ring, i) => {
    const hidden = other => Math.hypot(other.px - ring.px, other.py - ring.py) < 8;
    while (rings.slice(0, i).some(hidden)) ring.px += 14;
  });
  for (const { px, py } of rings) taken.push([px - 8, py - 8, px + 8, py + 8]);
  const numbers = rings
    .filter(({ out }) => out)
    .flatMap(({ px, py, stroke, y }) => {
      const text = formatValue(y, panel.percent);
      const places = [4, -11, 19, -26, 34].flatMap(down =>
        [px + 12, px - 12 - textWidth(text, SMALL)].map(left => [left, py + down]),
      );
      return backedText(text, ...freestPosition(text, SMALL, places, box, marks, taken), SMALL, theme, {
        'font-weight': 600,
        fill: stroke,
      });
    });
  return [
    ...rings.flatMap(({ one, x, y, note, stroke, px, py, out, isLast }) => [
      ...(isLast
        ? [
            [
              'path',
              {
                d: out < 0 ? 'M0 -13l5 6h-10z' : 'M0 13l5 -6h-10z',
                transform: `translate(${toPx(px)} ${toPx(py)})`,
                fill: stroke,
              },
            ],
          ]
        : []),
      [
        'circle',
        { cx: toPx(px), cy: toPx(py), r: 6, fill: theme.ground, 'fill-opacity': 0.6, stroke, 'stroke-width': 3 },
        ['title', {}, told(one, spec, panel, [x, y, null, note])],
      ],
    ]),
    ...numbers,
  ];
}

/** Draws the names at the ends of their lines, with a thin leader line if they had to move. */
function named(marks, box, { faint }) {
  const right = box.x + box.width;
  const ends = marks.map(({ points }) => points.reduce((last, point) => (point.x > last.x ? point : last)));
  const places = spreadLabels(
    ends.map(({ y }) => y),
    APART,
    box.y + 2,
    box.y + box.height,
  );
  return marks.map(({ series, stroke, name, dash }, i) => {
    const moved = Math.abs(places[i] - ends[i].y) > 5 || right - ends[i].x > 5;
    return [
      'g',
      { 'data-series': series },
      ...(moved
        ? [
            [
              'path',
              {
                d: `M${toPx(ends[i].x + 6)} ${toPx(ends[i].y)}L${toPx(right + 8)} ${toPx(places[i])}`,
                fill: 'none',
                stroke: faint,
                'stroke-width': 0.8,
              },
            ],
          ]
        : []),
      [
        'line',
        {
          x1: toPx(right + 10),
          x2: toPx(right + 10 + SAMPLE),
          y1: toPx(places[i]),
          y2: toPx(places[i]),
          stroke,
          'stroke-width': 2.5,
          ...dashAttributes(dash),
        },
      ],
      [
        'text',
        { x: toPx(right + SAMPLE + 15), y: toPx(places[i] + 4.5), 'font-size': 13, fill: stroke, 'font-weight': 600 },
        fitText(name, 180, 13),
      ],
    ];
  });
}

/**
 * Returns the values nearest to a point of a line chart: {plot, x, values: [{name, stroke, point}]}; null outside all
 * plots.
 */
export function nearestValues(plots, px, py) {
  const plot = plots.find(
    ({ box }) => px >= box.x - 8 && px <= box.x + box.width + 8 && py >= box.y && py <= box.y + box.height,
  );
  if (!plot) return null;
  const distance = x => Math.abs(plot.toX(x) - px);
  const x = plot.xs.reduce((best, one) => (distance(one) < distance(best) ? one : best));
  return { plot, x, values: valuesAt(plot, x) };
}

/** Returns the series whose line is nearest to a point of a plot; null if none is near. */
export function nearestLine(plot, px, py) {
  const away = ({ points }) =>
    Math.min(
      ...points.map((point, i) => {
        const next = points[i + 1] ?? point;
        const part = next.x === point.x ? 0 : Math.max(0, Math.min(1, (px - point.x) / (next.x - point.x)));
        return Math.hypot(point.x + part * (next.x - point.x) - px, point.y + part * (next.y - point.y) - py);
      }),
    );
  const [best] = plot.marks.reduce(
    ([found, least], mark) => (away(mark) < least ? [mark, away(mark)] : [found, least]),
    [null, NEAR],
  );
  return best?.series ?? null;
}

/** Returns the values of a plot's lines at x, the highest first. */
export const valuesAt = (plot, x) =>
  plot.marks
    .flatMap(({ series, name, stroke, points }) => {
      const point = points.find(({ value }) => value[0] === x);
      return point ? [{ series, name, stroke, point }] : [];
    })
    .sort((one, other) => other.point.value[1] - one.point.value[1]);
