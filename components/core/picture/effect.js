// Downloads of the effect panel: one prediction, unmodified and under the plan, as a picture, and all numbers as a
// table.

import { formatPercent, isolateDirection, tokenText, truncate } from '../format.js';
import { _ } from '../texts.js';
import { PAPER, textWidth, toPx } from './svg.js';

const ROW = 34; // px
const BAR = 320; // length in px of the bar for a probability of 1
const SIZE = 13;

const named = (token, isRight) => isolateDirection(truncate(tokenText(token), 24)) + (isRight ? ' ✓' : '');

/**
 * Returns the rows of a prediction as pairs of bars, and the facts below them.
 * @param {{rows: {label: string, before: number, after: number, right: boolean}[]} | undefined} shown
 * @param {{name: string, text: string, verdict: {text: string} | null}[]} facts
 * @param {boolean} changed false for the empty plan; each row then has one bar
 */
export function effectPicture(shown, facts, changed) {
  const rows = shown?.rows ?? [];
  const { ink, faint, accent, line } = PAPER;
  const labels = rows.map(({ label, right }) => named(label, right));
  const left = Math.ceil(Math.max(60, ...labels.map(label => textWidth(label, SIZE)))) + 12;
  const nodes = rows.flatMap(({ before, after }, i) => {
    const y = i * ROW;
    const bar = (value, top, fill) => ['rect', { x: left, y: y + top, width: toPx(BAR * value), height: 9, fill }];
    const numbers = changed ? `${formatPercent(before)} → ${formatPercent(after)}` : formatPercent(after);
    return [
      ['text', { x: left - 8, y: y + 19, 'text-anchor': 'end', 'font-size': SIZE, fill: ink }, labels[i]],
      ...(changed ? [bar(before, 4, line), bar(after, 15, accent)] : [bar(after, 9, accent)]),
      ['text', { x: left + BAR + 8, y: y + 19, 'font-size': SIZE, fill: ink }, numbers],
    ];
  });
  const lines = facts.map(({ name, text, verdict }, i) => [
    'text',
    { x: 0, y: rows.length * ROW + 24 + i * 20, 'font-size': SIZE, fill: faint },
    [name, text, verdict?.text ?? ''].filter(Boolean).join(' '),
  ]);
  const widest = Math.max(left + BAR + 140, ...lines.map(([, , text]) => textWidth(String(text), SIZE)));
  return { width: Math.ceil(widest), height: rows.length * ROW + 32 + facts.length * 20, nodes: [...nodes, ...lines] };
}

/** Returns all predictions, their KL divergences, and the loss of each token, one value per row. */
export function effectTable({ predictions, tokens, strip, before, after }) {
  const rows = predictions.flatMap(({ title, rows: tokens, kl, known }) => [
    ...tokens.map(row => [title, _('probability'), row.label, row.before, row.after, known ? Number(row.right) : '']),
    [title, _('KL divergence, nats'), '', 0, kl, ''],
  ]);
  if (typeof before === 'number') rows.push(['', _('loss on the text, nats'), '', before, after, '']);
  const what = strip ? strip.title : _('loss, nats');
  for (const { token, before: old, after: now } of tokens)
    if (now !== null) rows.push(['', what, token, old ?? '', now, '']);
  return { columns: ['prediction', 'measure', 'token', 'unmodified', 'changed', 'right'], rows };
}
