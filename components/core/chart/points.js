// A scatter: one point per head, with its name if it fits; some points are selected, one is chosen.

import { textWidth, toPx } from '../picture/svg.js';
import { createAxis, extent, formatValue, roundTicks, thinTicks } from './axes.js';
import { marker, seriesColour, seriesKey } from './marks.js';

// margins in px around the plot, LEFT at least; the menu is above it
const [LEFT, TOP, BOTTOM, RIGHT] = [62, 30, 48, 16];
const RADIUS = 5;
const SIZE = 11; // font size of a name in px

/** Possible positions of a name beside its point: x, y from the point, and the text anchor. */
const BESIDE = [
  [0, -9, 'middle'],
  [9, 4, 'start'],
  [-9, 4, 'end'],
  [0, 18, 'middle'],
];

const meet = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

/** Returns {x, y, anchor} of each name: beside its point without overlap; null if there is no such position. */
export function labelPositions(dots, names, { x: left, width }) {
  const taken = dots.map(({ x, y }) => [x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS]);
  return dots.map(({ x, y }, index) => {
    const wide = textWidth(names[index], SIZE);
    for (const [dx, dy, anchor] of BESIDE) {
      const start = x + dx - { middle: wide / 2, start: 0, end: wide }[anchor];
      const box = [start, y + dy - 9, start + wide, y + dy + 2];
      if (box[0] < left || box[2] > left + width || taken.some(other => meet(box, other))) continue;
      taken.push(box);
      return { x: x + dx, y: y + dy, anchor };
    }
    return null;
  });
}

/** Returns {width, height, nodes, plots, dots, box}: dots are the points for the pointer, in order. */
export function pointsChart(spec, width, theme) {
  const { ink, faint, line, ground, accent } = theme;
  const key =
    spec.series.length > 1
      ? seriesKey(
          spec.series.map(one => ({ ...one, kind: 'dots' })),
          width - 120,
          theme,
        )
      : { height: 0, nodes: [] };
  const [across, up] = [0, 1].map(which => extent(spec.points.map(point => point[which])));
  const height = spec.height - TOP - BOTTOM;
  const steps = roundTicks(up.low, up.high, height / 60);
  // beside the title
  const left = Math.max(LEFT, 33 + Math.max(...steps.map(tick => textWidth(formatValue(tick), 12))));
  const box = { x: left, y: key.height + TOP, width: width - left - RIGHT, height };
  const toX = createAxis('linear', [], box.x + 8, box.x + box.width - 8, across);
  const toY = createAxis('linear', [], box.y + box.height - 8, box.y + 8, up);
  const bottom = box.y + box.height;
  const word = (text, x, y, attributes) => [
    'text',
    { x: toPx(x), y: toPx(y), 'font-size': 12, fill: faint, ...attributes },
    text,
  ];
  const nodes = [...key.nodes];
  for (const tick of steps) {
    nodes.push(['line', { x1: box.x, x2: box.x + box.width, y1: toPx(toY(tick)), y2: toPx(toY(tick)), stroke: line }]);
    nodes.push(word(formatValue(tick), box.x - 7, toY(tick) + 4, { 'text-anchor': 'end' }));
  }
  const ticks = thinTicks(roundTicks(across.low, across.high, 8), toX, formatValue);
  for (const tick of ticks) nodes.push(word(formatValue(tick), toX(tick), bottom + 17, { 'text-anchor': 'middle' }));
  nodes.push(
    word(spec.x.title, box.x + box.width / 2, bottom + 38, { 'text-anchor': 'middle', 'font-size': 13, fill: ink }),
  );
  const middle = box.y + box.height / 2;
  nodes.push(
    word(spec.y.title, 14, middle, {
      'text-anchor': 'middle',
      'font-size': 13,
      fill: ink,
      transform: `rotate(-90 14 ${toPx(middle)})`,
    }),
  );
  const dots = spec.points.map(([x, y]) => ({ x: toX(x), y: toY(y) }));
  const places = labelPositions(
    dots,
    spec.points.map(([, , , name]) => name),
    box,
  );
  spec.points.forEach(([x, y, series, name, touched], index) => {
    const one = spec.series[series];
    const stroke = seriesColour(one.colour, theme);
    const at = dots[index];
    const told = ['title', {}, `${name}: ${spec.x.title} ${formatValue(x)}, ${spec.y.title} ${formatValue(y)}`];
    const ring = r => [
      'circle',
      { cx: toPx(at.x), cy: toPx(at.y), r, fill: 'none', stroke: accent, 'stroke-width': 2 },
    ];
    if (index === spec.chosen) nodes.push(ring(RADIUS + 5));
    const isPicked = spec.picked.includes(index);
    nodes.push(
      marker(
        one.dash,
        at.x,
        at.y,
        {
          fill: touched ? ground : isPicked ? accent : stroke,
          stroke: isPicked ? accent : stroke,
          'stroke-width': isPicked ? 3 : 1.5,
        },
        told,
      ),
    );
    const place = places[index];
    const style = {
      'font-size': SIZE,
      'text-anchor': place?.anchor,
      ...(isPicked ? { fill: accent, 'font-weight': 600 } : {}),
    };
    if (place) nodes.push(word(name, place.x, place.y, style));
  });
  return { width, height: key.height + spec.height, nodes, plots: [], dots, box };
}

/** Returns the indices in `dots` of the dots inside a rectangle between two corners, in any order. */
export const dotsInside = (dots, [x1, y1], [x2, y2]) =>
  dots.flatMap(({ x, y }, index) =>
    x >= Math.min(x1, x2) && x <= Math.max(x1, x2) && y >= Math.min(y1, y2) && y <= Math.max(y1, y2) ? [index] : [],
  );

/** Returns the index of the dot nearest to (x, y) within `reach` px; -1 if there is none. */
export function nearestDot(dots, x, y, reach = Infinity) {
  const far = dots.map(dot => Math.hypot(dot.x - x, dot.y - y));
  const least = Math.min(...far);
  return least <= reach ? far.indexOf(least) : -1;
}

/** Returns the index of the next dot in a direction (dx, dy) from dot `from`: the nearest one in that direction. */
export function nextDot(dots, from, dx, dy) {
  const cost = dots.map(dot => {
    const [along, aside] = [
      (dot.x - dots[from].x) * dx + (dot.y - dots[from].y) * dy,
      (dot.x - dots[from].x) * dy - (dot.y - dots[from].y) * dx,
    ];
    return along <= 0 || Math.abs(aside) > 3 * along ? Infinity : along + 2 * Math.abs(aside);
  });
  const least = Math.min(...cost);
  return least === Infinity ? from : cost.indexOf(least);
}

export const pointsTable = ({ x, y, series, points, picked }) => ({
  columns: ['name', 'kind', x.title, y.title, 'picked'],
  rows: points.map(([across, up, one, name], index) => [
    name,
    series[one].name,
    across,
    up,
    picked.includes(index) ? 'yes' : '',
  ]),
});
