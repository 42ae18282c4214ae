// Lines of the picture's rows: input dots, frames, lines of the heads to the answer's line, bars of contributions.

import { bar, dotsPath, hasTick, logitUnit, px } from '../core/stage/drawing.js';
import { SHOWN } from '../core/stage/weights.js';

const LEAST_GUIDE = 0.05; // smallest weight with a guide from the dot down to its word
const FRAME = { left: 26, right: 18, above: 6 }; // px between a layer's frame and its tiles

/** Returns the row of the drawn head, or of the drawn layer; null if all heads are shown. */
export const rowOf = ({ places, shown: { selection } }) =>
  selection.scope === 'all'
    ? null
    : places.rows.find(({ kind, layer }) => kind === selection.kind && layer === selection.layer);

/** Draws the dots of the input rows, the lines down to the words, and guides from the selected head's dots. */
export function drawWordDots(drawing) {
  const { places, shown, marks, words } = drawing;
  const { rows, words: boxes, x: end } = places;
  frames(drawing);
  if (!boxes.length) return;
  const chosen = rowOf(drawing);
  const lowest = rows.find(({ keys }) => keys === words.row);
  const small = [];
  for (const row of rows) {
    if (row.keys !== words.row) continue;
    const tinted = row === chosen && shown.used && shown.row;
    boxes.forEach(({ x }, j) => {
      const isOver = x > end && row !== lowest; // the answer stands there
      if (!isOver && (!tinted || shown.row[j] < SHOWN)) small.push({ x, y: row.dots });
    });
  }
  marks.mark('dots', 'path', { class: 'dots', d: dotsPath(small) });
  if (lowest) {
    const down = boxes.map(({ x, top }) => `M${px(x)} ${px(lowest.dots + 4)}V${px(top - 3)}`).join('');
    marks.mark('downs', 'path', { class: 'downs', d: down });
  }
  if (!chosen || chosen.keys !== words.row || shown.selection.scope !== 'head' || chosen === lowest || !shown.row)
    return;
  const guides = boxes
    .filter((_box, j) => shown.row[j] >= LEAST_GUIDE)
    .map(({ x, top }) => `M${px(x)} ${px(chosen.dots + 6)}V${px(top - 3)}`);
  marks.mark('guides', 'path', { class: 'guides', d: guides.join('') });
}

function frames({ places, marks }) {
  const paths = places.rows.map(({ xs, half, top, bottom }) => {
    const [left, right] = [xs[0] - half - FRAME.left, xs.at(-1) + half + FRAME.right];
    const [y, height, r] = [top - FRAME.above, bottom - top + 2 * FRAME.above, 10];
    const [width, inner] = [right - left - 2 * r, height - 2 * r];
    const corner = (x, down) => `a${r} ${r} 0 0 1 ${x} ${down}`;
    return `M${px(left + r)} ${px(y)}h${px(width)}${corner(r, r)}v${px(inner)}${corner(-r, r)}h${px(-width)}${corner(-r, -r)}v${px(-inner)}${corner(r, -r)}z`;
  });
  marks.mark('frames', 'path', { class: 'frames', d: paths.join('') });
}

/** Draws the heads' lines and the bars of contributions. Returns the bars' px per logit; null without bars. */
export function drawHeadLines(drawing, line) {
  const { data, view, shown, places, marks } = drawing;
  const unit = view.marks.contributions && data.contributions?.token && line ? barUnit(data) : null;
  const chosen = rowOf(drawing);
  const paths = { buses: '', risers: '', cuts: '', sockets: '', squares: '' };
  for (const row of places.rows) {
    const heads = view.heads[row.kind][row.layer];
    paths.buses += `M${px(row.xs[0])} ${px(row.bus)}H${px(line ? places.x : row.xs.at(-1))}`;
    row.xs.forEach((x, head) => {
      const { constant, gate, closed } = heads[head];
      if (gate === 0 || closed) {
        paths.cuts += `M${px(x - 6)} ${px(row.bus + 6)}l12 -4`;
        paths.sockets += `M${px(x - 2.6)} ${px(row.bus)}a2.6 2.6 0 1 0 5.2 0a2.6 2.6 0 1 0 -5.2 0`;
        return;
      }
      paths.risers += `M${px(x)} ${px(row.top)}V${px(row.bus)}`;
      if (constant) paths.squares += `M${px(x - 3.5)} ${px(row.bus - 3.5)}h7v7h-7z`;
    });
  }
  for (const [name, d] of Object.entries(paths)) marks.mark(name, 'path', { class: name, d });
  memoryLines(drawing, chosen);
  if (chosen && shown.used) chosenLine(drawing, chosen, line);
  if (unit !== null) for (const row of places.rows) headBars(drawing, row, unit);
  return unit;
}

const MEMORY = -14; // px from the picture's corner to the line from the encoder's memory

/** Draws the lines from the memory to the rows that read it. */
function memoryLines({ places, marks, words }, chosen) {
  const reading = places.rows.filter(({ keys }) => keys !== words.row);
  if (!reading.length || !places.memory) return;
  const middle = ({ top, bottom }) => (top + bottom) / 2;
  const { x, y } = places.memory;
  const ends = [y, ...reading.map(middle)];
  const start = `M${px(x)} ${px(y)}H${MEMORY}M${MEMORY} ${px(Math.min(...ends))}V${px(Math.max(...ends))}`;
  const branch = row => `M${MEMORY} ${px(middle(row))}H${px(row.xs[0] - row.half - FRAME.left)}`;
  marks.mark('memory', 'path', { class: 'from-memory', d: start + reading.map(branch).join('') });
  if (reading.includes(chosen)) marks.mark('reads', 'path', { class: 'from-memory chosen', d: branch(chosen) });
}

function chosenLine({ places, shown, marks, view, words }, row, line) {
  const { scope, head } = shown.selection;
  const heads = scope === 'head' ? [head] : row.xs.keys();
  const live = Array.from(heads).filter(h => view.heads[row.kind][row.layer][h].gate > 0);
  if (!live.length) return;
  const rises = live.map(h => `M${px(row.xs[h])} ${px(row.top)}V${px(row.bus)}`).join('');
  // another looking word receives the head's output in its own stream, not in that of the answer
  const word = shown.query === shown.at || !words.row || shown.queries !== words.row ? null : places.words[shown.query];
  const to = word ? word.x : places.x;
  const from = row.xs[live[0]];
  const arrow = word ? `M${px(to)} ${px(row.bus)}v-7m-4 4l4 -4l4 4` : '';
  const across = line || word ? `M${px(from)} ${px(row.bus)}H${px(to)}${arrow}` : '';
  marks.mark('chosen', 'path', { class: 'chosen', d: rises + across });
  marks.mark('joints', 'path', { class: 'joints', d: dotsPath(live.map(h => ({ x: row.xs[h], y: row.bus }))) });
}

/** Returns the px per logit for all bars of heads and MLPs, before and after a change. */
function barUnit({ arrays }) {
  const values = Object.entries(arrays)
    .filter(([name]) => name.startsWith('stubs'))
    .flatMap(([, { data }]) => Array.from(data));
  return logitUnit(values);
}

const BASELINE = 30; // px from the top of a tile down to the baseline of its bar

function headBars({ data, marks }, row, unit) {
  const now = data.arrays[`stubs.${row.kind}`];
  if (!now) return;
  const before = data.arrays[`stubs_before.${row.kind}`];
  row.xs.forEach((x, head) => {
    const index = row.layer * row.xs.length + head;
    drawBar(marks, `${row.kind}.${index}`, {
      x: x + row.half + 6,
      y: row.top + BASELINE,
      value: now.data[index],
      was: before?.data[index],
      unit,
    });
  });
}

/** Draws a bar of a contribution: up and solid for, down and hatched against; a tick marks the value before a change. */
export function drawBar(marks, name, { x, y, value, was, unit }) {
  marks.mark(`base ${name}`, 'path', { class: 'base', d: `M${px(x - 1)} ${px(y)}h8` });
  const shown = bar(value, unit, y);
  const height = shown?.height ?? 0;
  marks.mark(`bar ${name}`, 'rect', {
    class: shown?.against ? 'bar against' : 'bar',
    x: px(x),
    width: 6,
    rx: 1,
    style: `y: ${px(shown?.y ?? y)}px; height: ${px(height)}px`,
  });
  if (was !== undefined && hasTick(was, value, unit))
    marks.mark(`was ${name}`, 'path', { class: 'was', d: `M${px(x - 2)} ${px(y - was * unit)}h10` });
}
