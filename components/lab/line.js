// The line from the word up to the answer: nodes of the layers, MLPs, and the prediction after each layer.

import { tokenText, truncate } from '../core/format.js';
import { lineWidth, px } from '../core/stage/drawing.js';
import { formatShare, wordText } from '../core/stage/sentences.js';
import { _ } from '../core/texts.js';
import { setChildren } from '../widgets/dom.js';
import { svgElement } from '../widgets/menu.js';
import { drawBar } from './rows.js';

const MLP = 16; // px from the line of a layer's heads up to its MLP
const NODE = 36; // px from that line up to the node after the layer

/** Returns the height of the node below a row: the looking position's stream after the layer before. */
export const nodeBelow = ({ rows }, row) =>
  (rows.find(({ ends, layer }) => ends && layer === row.layer - 1)?.bus ?? row.dots + NODE) - NODE;
const LABEL = 14; // characters of a guess

/** Draws the line. */
export function drawAnswerLine(drawing, unit) {
  const { data, view, places, marks } = drawing;
  const { x, rows } = places;
  const tops = rows.filter(({ ends }) => ends); // the last block of each layer
  const lens = view.marks.guesses && data.guesses?.layers ? data.guesses : null;
  const widths = tops.map(({ layer }) => (lens ? lineWidth(lens.chance[layer]) : 1.5));
  widths.push(lens ? lineWidth(lens.chance[tops.at(-1).layer + 1]) : 1.5);
  const mlps = tops.map(({ bus }) => bus - MLP);
  const end = Math.min(places.end, mlps.at(-1) - 22);
  let from = start(drawing);
  for (let l = 0; l <= tops.length; l += 1) {
    const to = l < tops.length ? mlps[l] : end;
    marks.mark(`line ${l}`, 'path', {
      class: 'line',
      d: `M${px(x)} ${px(from)}V${px(to)}`,
      style: `stroke-width: ${px(widths[l])}px`,
    });
    from = to;
  }
  for (const { bus, kind, layer } of rows)
    marks.mark(`joint ${kind} ${layer}`, 'circle', { class: 'node', cx: px(x), cy: px(bus), r: 3.2 });
  if (view.marks.contributions && data.contributions?.token) drawMlps(drawing, tops, mlps, unit);
  if (lens) drawGuesses(drawing, tops, lens, widths);
  marks.mark('end', 'circle', {
    class: 'end',
    cx: px(x),
    cy: px(end),
    r: lens ? Math.max(6, widths.at(-1) / 2 + 3) : 7,
  });
}

/** Draws the line's beginning, from the word whose prediction is shown; returns where the line goes on. */
function start({ places, marks, shown, data, words }) {
  const { x, rows, front, bottom } = places;
  const low = rows[0].dots;
  const word = shown.atRow === words.row ? front[shown.at] : null;
  if (!word) {
    const token = data.tokens[words.row][shown.at];
    if (words.wraps && token) {
      const label = truncate(tokenText(token), LABEL);
      const y = bottom > low ? Math.min(low + 24, bottom - 4) : low + 24; // a picture stands at the side
      marks.mark('label', 'text', { class: 'from', x: px(x - 6), y: px(y), 'text-anchor': 'end' }, label);
    }
    return low + 8;
  }
  const top = word.top - 2;
  if (Math.abs(word.x - x) <= 4) return top;
  const y = low + (word.top - low) / 2;
  const r = x > word.x ? 5 : -5;
  marks.mark('elbow', 'path', {
    class: 'line',
    d: `M${px(word.x)} ${px(top)}V${px(y + 5)}Q${px(word.x)} ${px(y)} ${px(word.x + r)} ${px(y)}H${px(x - r)}Q${px(x)} ${px(y)} ${px(x)} ${px(y - 5)}`,
  });
  return y - 5;
}

function drawMlps({ data, places: { x }, marks }, tops, ys, unit) {
  const [now, before] = ['stubs.mlp', 'stubs_before.mlp'].map(name => data.arrays[name]?.data);
  if (!now) return;
  tops.forEach(({ layer }, index) => {
    const y = ys[index];
    marks.mark(`mlp ${layer}`, 'path', { class: 'mlp', d: `M${px(x - 7)} ${px(y - 7)}h14v14h-14z` });
    marks.mark(`fold ${layer}`, 'path', { class: 'fold', d: `M${px(x - 3)} ${px(y + 2.5)}l3 -5l3 5` });
    marks.mark(`name ${layer}`, 'text', { x: px(x - 11), y: px(y + 4), 'text-anchor': 'end' }, 'MLP');
    drawBar(marks, `mlp ${layer}`, { x: x + 12, y: y + 5, value: now[layer], was: before?.[layer], unit });
  });
}

function drawGuesses({ places: { x, trunk, width }, marks }, tops, lens, widths) {
  const answer = wordText(lens.token);
  const left = x + trunk / 2 + 2;
  tops.slice(0, -1).forEach(({ layer, bus }, index) => {
    const y = bus - NODE;
    const [{ label, p }] = lens.layers[layer + 1];
    const isAnswer = label === lens.token;
    const radius = Math.max(4.5, widths[index + 1] / 2 + 2);
    marks.mark(`node ${layer}`, 'circle', { class: 'node', cx: px(x), cy: px(y), r: px(radius) });
    marks.mark(`leads ${layer}`, 'path', { class: 'leads', d: `M${px(x + 9)} ${px(y)}H${px(left - 4)}` });
    const about = _('guess after layer {layer}', { layer: layer + 1 });
    marks.mark(`about ${layer}`, 'text', { class: 'about', x: px(left), y: px(y) }, about);
    const shown = truncate(wordText(label), LABEL);
    const guess = marks.mark(`guess ${layer}`, 'text', {
      class: isAnswer ? 'guess answer' : 'guess',
      x: px(left),
      y: px(y + 19),
    });
    const others = isAnswer ? '' : `${truncate(answer, LABEL)}: ${formatShare(lens.chance[layer + 1])}`;
    fill(guess, shown, formatShare(p), others);
  });
  const top = tops.at(-2);
  if (top) marks.mark('rule', 'path', { class: 'rule', d: `M${px(left)} ${px(top.bus - NODE - 14)}H${px(width)}` });
}

const PIECES = [{ class: 'label' }, { class: 'share', dx: 8 }, { class: 'share', dx: 10 }];

/** Writes a guess, its probability, and the probability of the answer at this height. */
const fill = (element, ...parts) =>
  setChildren(element, parts, () =>
    parts.filter(Boolean).map((text, index) => svgElement(['tspan', PIECES[index], text.trim()])),
  );
