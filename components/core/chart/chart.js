// Charts as trees and tables: lines, dots in rows, squares of heads. components/head_charts.py makes the specs of points.

import { hexColour } from '../attention/scales.js';
import { colourBar, fitText, textWidth, toPx, wrapText } from '../picture/svg.js';
import { _ } from '../texts.js';
import { createAxis, extent, formatValue, roundTicks, thinTicks } from './axes.js';
import { gatesChart, gatesTable, groupsChart, groupsTable } from './fields.js';
import { linesChart } from './lines.js';
import { backedText, marker, seriesColour, seriesKey } from './marks.js';
import { pointsChart, pointsTable } from './points.js';

const ICON = 44; // width in px of the upper right corner, where the page has the download button

/** Draws values along a line, a row for each name; colour and shape show their origin. */
export function dotsChart(spec, width, theme) {
  const { ink, faint, line } = theme;
  const several = spec.series.length > 1;
  const key = several ? seriesKey(spec.series, width, theme) : { height: 0, nodes: [] };
  const left = Math.min(Math.max(...spec.rows.map(name => textWidth(name, 13))) + 14, 0.42 * width);
  const names = spec.rows.map(name => wrapText(name, left - 10, 13, 2));
  const tall = Math.max(14 + 15 * spec.series.length, ...names.map(lines => 10 + 15 * lines.length));
  const titled = wrapText(spec.x.title, width - ICON, 15); // the title is bold, so the text is wider than usual
  const over = 17 * (titled.length - 1);
  const [top, right] = [key.height + 40 + over, width - 56];
  const bottom = top + tall * spec.rows.length;
  const limits = extent([...spec.points.map(([, , value]) => value), ...(spec.rule ? [spec.rule.at] : [])]);
  const toX = createAxis('linear', [], left + 8, right, limits);
  const ticks = thinTicks(roundTicks(limits.low, limits.high, 5), toX, tick => formatValue(tick, spec.percent));
  const word = (text, x, y, attributes) => [
    'text',
    { x: toPx(x), y: toPx(y), 'font-size': 12, fill: faint, ...attributes },
    text,
  ];
  const title = { x: 0, 'font-size': 14, 'font-weight': 600, fill: ink };
  const nodes = titled.map((text, i) => ['text', { ...title, y: 15 + 17 * i }, text]);
  nodes.push(['g', { transform: `translate(0 ${26 + over})` }, ...key.nodes]);
  for (const tick of ticks) {
    nodes.push(['line', { x1: toPx(toX(tick)), x2: toPx(toX(tick)), y1: top, y2: bottom, stroke: line }]);
    nodes.push(word(formatValue(tick, spec.percent), toX(tick), bottom + 17, { 'text-anchor': 'middle' }));
  }
  if (spec.rule) {
    const at = toPx(toX(spec.rule.at));
    nodes.push([
      'line',
      { x1: at, x2: at, y1: top, y2: bottom, stroke: faint, 'stroke-width': 1.5, 'stroke-dasharray': '3 3' },
    ]);
    const isRight = toX(spec.rule.at) + textWidth(spec.rule.label, 11) > width - 8;
    nodes.push(
      word(spec.rule.label, toX(spec.rule.at), top - 5, { 'font-size': 11, 'text-anchor': isRight ? 'end' : 'middle' }),
    );
  }
  spec.rows.forEach((_, row) => {
    const y = top + row * tall;
    names[row].forEach((text, i) => {
      const down = y + tall / 2 + 5 + 15 * (i - (names[row].length - 1) / 2);
      nodes.push(['text', { x: 0, y: toPx(down), 'font-size': 13, fill: ink }, text]);
    });
    nodes.push([
      'line',
      {
        x1: toPx(left + 8),
        x2: toPx(right),
        y1: toPx(y + tall / 2),
        y2: toPx(y + tall / 2),
        stroke: line,
        'stroke-dasharray': '1 4',
      },
    ]);
  });
  for (const [row, series, value] of spec.points) {
    const one = spec.series[series];
    const fill = seriesColour(one.colour, theme);
    // Dots of one row are side by side, so that equal values of different origins are visible.
    const y = top + row * tall + tall / 2 + (series - (spec.series.length - 1) / 2) * 15;
    const told = `${spec.rows[row]}${several ? `, ${one.name}` : ''}: ${formatValue(value, spec.percent)}`;
    nodes.push(marker(one.dash ?? 0, toX(value), y, { fill }, ['title', {}, told]));
    const alone = spec.points.filter(([r, s]) => r === row && s === series).length === 1;
    if (!alone) continue;
    const said = formatValue(value, spec.percent);
    const [beside, wide] = [toX(value) + 9, textWidth(said, 11)];
    // The number is on the other side of its mark if the rule would cross it.
    const crossed = spec.rule && toX(spec.rule.at) > beside - 3 && toX(spec.rule.at) < beside + wide + 3;
    nodes.push(...backedText(said, crossed ? toX(value) - 9 - wide : beside, y + 4, 11, theme, { fill: ink }));
  }
  return { width, height: bottom + 28, nodes, plots: [] };
}

const SQUARE = [14, 30]; // smallest and largest side of a head's square in px
const MENU = 120; // width in px at the right for the menu

/**
 * Draws each head as a square of one colour, layers down, one picture per model; with one head per layer, layers
 * across.
 */
export function squaresChart(spec, width, theme) {
  const { ink, faint, line } = theme;
  const most = spec.most || 1;
  const across = Math.max(1, Math.min(spec.panels.length, Math.floor((width + 24) / 185)));
  const each = (width - 24 * (across - 1)) / across;
  const nodes = [];
  const reach = (across - 1) * (each + 24) + textWidth(spec.panels[across - 1].title, 13);
  let [y, tallest] = [reach > width - MENU ? 22 : 0, 0];
  spec.panels.forEach(({ title, values, note }, index) => {
    const column = index % across;
    if (index && !column) [y, tallest] = [y + tallest + 16, 0];
    const x = column * (each + 24);
    const word = (text, at, down, attributes) => [
      'text',
      { x: toPx(at), y: toPx(down), 'font-size': 12, fill: faint, ...attributes },
      text,
    ];
    nodes.push([
      'text',
      { x: toPx(x), y: y + 15, 'font-size': 13, 'font-weight': 600, fill: ink },
      fitText(title, each, 13),
    ]);
    if (!values) {
      wrapText(note ?? '', each, 12).forEach((text, i) => nodes.push(word(text, x, y + 38 + 17 * i)));
      tallest = Math.max(tallest, 60);
      return;
    }
    const single = values[0].length === 1;
    const shown = single ? [values.map(([value]) => value)] : values;
    const side = Math.max(SQUARE[0], Math.min(SQUARE[1], Math.floor((each - 26) / shown[0].length)));
    const [left, top] = [x + 22, y + 42];
    shown[0].forEach((_, column) =>
      nodes.push(word(String(column + 1), left + (column + 0.5) * side, top - 6, { 'text-anchor': 'middle' })),
    );
    shown.forEach((row, down) => {
      if (!single)
        nodes.push(word(String(down + 1), left - 6, top + (down + 0.5) * side + 4, { 'text-anchor': 'end' }));
      row.forEach((value, column) => {
        const [layer, head] = single ? [column, 0] : [down, column];
        const fill = hexColour(theme.dark, 'sequential', Math.round(255 * Math.min(1, Math.max(0, value / most))));
        const place = {
          x: toPx(left + column * side),
          y: toPx(top + down * side),
          width: side,
          height: side,
          fill,
          stroke: line,
        };
        const told = { title, layer: layer + 1, head: head + 1, value: `${formatValue(value)} ${spec.unit}` };
        const words = spec.pairs
          ? _('{title}, heads {layer} and {head}: {value}', told)
          : _('{title}, layer {layer}, head {head}: {value}', told);
        nodes.push(['rect', place, ['title', {}, words]]);
      });
    });
    tallest = Math.max(tallest, 42 + side * shown.length);
  });
  const ticks = [0, 0.25, 0.5, 0.75, 1].map(at => ({ at, label: formatValue(Number((at * most).toPrecision(3))) }));
  const bar = {
    x: 22,
    y: y + tallest + 16,
    width: Math.min(260, width - 90),
    scale: 'sequential',
    ticks,
    after: spec.unit,
    theme,
  };
  const how = spec.pairs
    ? _('Rows and columns are the heads of a layer.')
    : _('Layers down, heads across; where a layer has one head, layers across.');
  const about = wrapText(how, width, 12);
  about.forEach((text, i) =>
    nodes.push(['text', { x: 0, y: toPx(bar.y + 46 + 17 * i), 'font-size': 12, fill: faint }, text]),
  );
  return { width, height: bar.y + 36 + 17 * about.length, nodes: [...nodes, ...colourBar(bar)], plots: [] };
}

/** Returns {width, height, nodes, plots} of any chart. `every`: each point has a tooltip, as files need. */
export function chartPicture(spec, width, theme, every = false) {
  const forms = {
    lines: linesChart,
    dots: dotsChart,
    squares: squaresChart,
    groups: groupsChart,
    gates: gatesChart,
    points: pointsChart,
  };
  return forms[spec.form](spec, width, theme, every);
}

/** Returns the numbers of a chart as {columns, rows}. */
export function chartTable(spec) {
  if (spec.form === 'groups') return groupsTable(spec);
  if (spec.form === 'gates') return gatesTable(spec);
  if (spec.form === 'points') return pointsTable(spec);
  if (spec.form === 'squares')
    return {
      columns: ['picture', ...(spec.pairs ? ['head', 'other'] : ['layer', 'head']), spec.unit],
      rows: spec.panels.flatMap(({ title, values }) =>
        (values ?? []).flatMap((row, layer) => row.map((value, head) => [title, layer + 1, head + 1, value])),
      ),
    };
  if (spec.form === 'dots')
    return {
      columns: ['name', 'from', spec.x.title],
      rows: spec.points.map(([row, series, value]) => [spec.rows[row], spec.series[series].name, value]),
    };
  return {
    columns: ['picture', 'line', spec.x.title, 'value', 'spread', 'note'],
    rows: spec.panels.flatMap(({ title = '', lines, rings = [], seeds = [] }) => [
      ...lines.flatMap(({ series, points }) =>
        points.map(([x, y, spread, note]) => [title, spec.series[series].name, x, y, spread ?? '', note ?? '']),
      ),
      ...[...rings, ...seeds].map(({ series, x, y, note }) => [title, spec.series[series].name, x, y, '', note]),
    ]),
  };
}
