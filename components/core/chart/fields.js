// Charts of squares that are not values of one scale: the group of each head, and the gates of each token.

import { hexColour } from '../attention/scales.js';
import { formatNumber, quoteToken, tokenText } from '../format.js';
import { colourBar, fitText, textWidth, toPx } from '../picture/svg.js';
import { _ } from '../texts.js';
import { seriesColour, seriesKey } from './marks.js';

const GAP = 24; // gap in px between two panels
const SIDE = 30; // side of the largest square of a head in px
const LETTERS = 22; // side in px below which a square has no letters
const PLACE = [5, 16]; // smallest and largest height of a token's row in px, within FIELD px for all rows
const FIELD = 640;

const word = (text, x, y, { faint }, attributes = {}) => [
  'text',
  { x: toPx(x), y: toPx(y), 'font-size': 12, fill: faint, ...attributes },
  text,
];

/** Draws each head as a square of its group's colour with the group's letters, layers down, one picture per block. */
export function groupsChart(spec, width, theme) {
  const { ink, ground } = theme;
  const key = seriesKey(
    spec.series.map(one => ({ ...one, kind: 'dots', dash: 3 })),
    width - 120,
    theme,
  );
  const nodes = [...key.nodes];
  const heads = Math.max(...spec.panels.map(({ groups }) => groups[0].length));
  const side = Math.max(12, Math.min(SIDE, Math.floor((width - 30) / heads)));
  const across = Math.max(1, Math.floor((width + GAP) / (22 + side * heads + GAP)));
  let [y, tallest] = [key.height, 0];
  spec.panels.forEach(({ title, groups, told }, index) => {
    const column = index % across;
    if (index && !column) [y, tallest] = [y + tallest + 16, 0];
    const x = column * (22 + side * heads + GAP);
    const [left, top] = [x + 22, y + (title ? 44 : 24)];
    if (title) nodes.push(word(title, x, y + 17, theme, { 'font-size': 14, 'font-weight': 600, fill: ink }));
    groups[0].forEach((_, head) =>
      nodes.push(word(String(head + 1), left + (head + 0.5) * side, top - 6, theme, { 'text-anchor': 'middle' })),
    );
    groups.forEach((row, layer) => {
      const middle = top + (layer + 0.5) * side + 4;
      nodes.push(word(String(layer + 1), left - 6, middle, theme, { 'text-anchor': 'end' }));
      row.forEach((group, head) => {
        const place = {
          x: toPx(left + head * side),
          y: toPx(top + layer * side),
          width: side,
          height: side,
          stroke: ground,
        };
        const fill = seriesColour(spec.series[group].colour, theme);
        nodes.push(['rect', { ...place, fill }, ['title', {}, told[layer][head]]]);
        const letters = {
          'font-size': 12,
          'font-weight': 600,
          fill: ground,
          'text-anchor': 'middle',
          'pointer-events': 'none',
        };
        if (side >= LETTERS)
          nodes.push(word(spec.series[group].letters, left + (head + 0.5) * side, middle, theme, letters));
      });
    });
    tallest = Math.max(tallest, top - y + side * groups.length);
  });
  return { width, height: y + tallest + 12, nodes, plots: [] };
}

/** Draws gates: tokens down, heads across, one field per layer; an open gate is filled. */
export function gatesChart(spec, width, theme) {
  const { ink, line, accent } = theme;
  const [n, heads] = [spec.rows.length, spec.panels[0].values.length];
  const tall = Math.max(PLACE[0], Math.min(PLACE[1], Math.floor(FIELD / n)));
  const every = Math.ceil(13 / tall); // number of tokens per label, so that no two labels touch
  const shown = spec.rows.map(token => fitText(tokenText(token), 84, 12));
  const left = Math.max(...shown.map(text => textWidth(text, 12))) + 10;
  const wide = Math.max(6, Math.min(PLACE[1], Math.floor((width - left - GAP) / heads)));
  const across = Math.max(1, Math.floor((width - left + 12) / (wide * heads + 12)));
  const nodes = [];
  let y = 0;
  spec.panels.forEach(({ title, marked, values }, index) => {
    const column = index % across;
    if (index && !column) y += tall * n + 60;
    const [x, top] = [left + column * (wide * heads + 12), y + 42];
    nodes.push(word(title, x, y + 15, theme, { 'font-size': 13, 'font-weight': 600, fill: marked ? accent : ink }));
    values.forEach((_, head) => {
      if (wide >= 12 || head % 2 === 0)
        nodes.push(
          word(String(head + 1), x + (head + 0.5) * wide, top - 6, theme, { 'font-size': 11, 'text-anchor': 'middle' }),
        );
    });
    if (!column)
      shown.forEach((token, place) => {
        if (place % every === 0)
          nodes.push(word(token, left - 6, top + (place + 0.5) * tall + 4, theme, { 'text-anchor': 'end' }));
      });
    values.forEach((gates, head) =>
      gates.forEach((gate, place) => {
        const at = { x: toPx(x + head * wide), y: toPx(top + place * tall), width: wide, height: tall };
        const told = _('{token}, {title}, head {head}: gate {gate}', {
          ...{ token: quoteToken(spec.rows[place]), title, head: head + 1, gate: formatNumber(gate, 3) },
        });
        nodes.push([
          'rect',
          { ...at, fill: hexColour(theme.dark, 'sequential', Math.round(255 * gate)) },
          ['title', {}, told],
        ]);
      }),
    );
    nodes.push([
      'rect',
      { x: toPx(x), y: toPx(top), width: wide * heads, height: tall * n, fill: 'none', stroke: line },
    ]);
  });
  const height = y + 42 + tall * n;
  const ticks = [0, 0.5, 1].map(at => ({ at, label: String(at) }));
  const bar = {
    x: left,
    y: height + 16,
    width: Math.min(200, width - left - 60),
    scale: 'sequential',
    ticks,
    after: spec.unit,
    theme,
  };
  return { width, height: height + 48, nodes: [...nodes, ...colourBar(bar)], plots: [] };
}

/** Returns the groups as {columns, rows}. */
export const groupsTable = ({ series, panels }) => ({
  columns: ['picture', 'layer', 'head', 'group', 'told'],
  rows: panels.flatMap(({ title = '', groups, told }) =>
    groups.flatMap((row, layer) =>
      row.map((group, head) => [title, layer + 1, head + 1, series[group].name, told[layer][head]]),
    ),
  ),
});
export const gatesTable = ({ rows, panels, unit }) => ({
  columns: ['place', 'token', 'picture', 'head', unit],
  rows: panels.flatMap(({ title, values }) =>
    values.flatMap((gates, head) => gates.map((gate, place) => [place + 1, rows[place], title, head + 1, gate])),
  ),
});
