// Computes the texts and bar lengths of the effect panel: rows of a prediction, facts, and the strip of tokens.

import { differenceStep, weightStep } from './attention/scales.js';
import { formatNumber, formatPercent, quoteToken, tokenText, truncate } from './format.js';
import { _ } from './texts.js';

const SAME = 0.0005; // smallest change, in nats or another unit, that counts as a change; a smaller value rounds to 0
const RANGE = 2; // the strongest colour stands for a change of at least this many nats
const LEAST = 0.01; // the same for other units than nats
const SMALLEST = 0.001; // smallest probability whose rank is shown; a smaller value is displayed as <0.1%
const LAST_RANK = 99; // a lower rank is shown as “new”

/** Returns the percentage that formatPercent displays, as a number, so that displayed differences match the values. */
const shownPercent = value => {
  const percent = 100 * value;
  if (percent < 0.1) return 0;
  return percent > 99.9 ? 100 : Number(percent.toFixed(1));
};

/** Returns a change in three decimals, computed from the displayed numbers. */
const shownChange = (old, now) => {
  const [before, after] = [old, now].map(value => Number(value.toFixed(3)));
  return formatNumber(Math.abs(now - old) < SAME ? now - old : after - before, 3, true);
};

/** Returns a row of the prediction: {label, title, right, before, after (lengths in %), numbers, points}. */
export const effectRow = ({ label, before, after, right }, changed) => ({
  label: truncate(tokenText(label), 24) + (right ? ' ✓' : ''),
  title: right ? _('{token}: the right answer', { token: quoteToken(label) }) : tokenText(label),
  right: Boolean(right),
  before: 100 * before,
  after: 100 * after,
  numbers: changed ? `${formatPercent(before).slice(0, -1)} → ${formatPercent(after)}` : formatPercent(before),
  points: changed ? formatNumber(shownPercent(after) - shownPercent(before), 1, true) : '',
});

/** Returns [arrow, word, class] of a change. With `judged`, more is called worse and less is called better. */
export function changeVerdict(change, judged = true) {
  if (Math.abs(change) < SAME) return ['=', _('no change'), 'same'];
  if (!judged) return change > 0 ? ['▲', _('more'), 'more'] : ['▼', _('less'), 'less'];
  return change > 0 ? ['▲', _('worse'), 'worse'] : ['▼', _('better'), 'better'];
}

const withUnit = (text, unit) => (unit ? `${text} ${unit}` : text);

/**
 * Returns a line under the prediction: {name, term, text, verdict}; `verdict` is {className, text} of the change, or
 * null.
 * @param {{name: string, term?: string, before: number | null, after: number | null, unit?: string}} fact `term` is a
 *   key of the glossary
 * @param {boolean} changed true if heads are changed
 * @param {boolean} judged true if more is worse
 */
export function factLine({ name, term, before, after, unit = '' }, changed, judged = false) {
  const [old, now] = [before, after].map(value => value ?? null);
  if (now === null && old === null) return { name, term, text: '–', verdict: null };
  if (!changed || now === null) return { name, term, text: withUnit((old ?? now).toFixed(3), unit), verdict: null };
  if (old === null) return { name, term, text: withUnit(now.toFixed(3), unit), verdict: null };
  const [arrow, word, className] = changeVerdict(now - old, judged);
  const change = _('{arrow} {change}, {word}', { arrow, change: shownChange(old, now), word });
  return { name, term, text: `${old.toFixed(3)} → ${now.toFixed(3)} `, verdict: { className, text: change } };
}

/**
 * Returns the line that names the prediction with the largest KL divergence; `index` is that prediction. `nothing` is
 * the text as long as no divergence is known.
 */
const furthest = (predictions, known, distance, nothing) => {
  const most = predictions.reduce((best, { kl }, index) => (kl > predictions[best].kl ? index : best), 0);
  const { title, kl } = predictions[most];
  const line = { name: _('Largest KL divergence'), verdict: null };
  if (!known || kl < SAME) return { ...line, text: known ? distance(kl) : nothing };
  return { ...line, text: `${truncate(title, 40)}, ${distance(kl)}`, index: most };
};

/**
 * Returns the lines under the prediction: the facts that Python sent, else the KL divergence and the loss, if known.
 */
export function factLines({ facts, before, after, changed, predictions = [] }, shown) {
  if (facts) return facts.map(fact => factLine(fact, changed));
  const known = shown && changed && typeof shown.kl === 'number';
  const unit = _('nats');
  const nothing = changed ? '–' : _('nothing is changed yet');
  const distance = kl => withUnit(kl > 0 && kl < SAME ? '<0.001' : kl.toFixed(3), unit);
  const moved = {
    name: _('KL divergence from the unmodified model'),
    term: 'kl',
    text: known ? distance(shown.kl) : nothing,
    verdict: null,
  };
  const lines = predictions.length > 1 ? [moved, furthest(predictions, known, distance, nothing)] : [moved];
  if (before === null || after === null) return lines;
  const loss = { name: _('Loss on the text'), term: 'loss', before, after, unit };
  return [...lines, factLine(loss, changed, true)];
}

const likeliest = (rows, when) => rows.reduce((best, row) => (row[when] > best[when] ? row : best));

/** Returns the text for the rank before the change, from 1: `was 2nd`. */
function formerRank(rank) {
  if (rank > LAST_RANK) return _('new');
  const ending = Math.floor(rank / 10) === 1 ? 0 : rank % 10;
  if (ending === 1) return _('was {rank}st', { rank });
  if (ending === 2) return _('was {rank}nd', { rank });
  if (ending === 3) return _('was {rank}rd', { rank });
  return _('was {rank}th', { rank });
}

/** Returns a row's former rank as {was, title}, if the rank has changed; texts are empty otherwise. */
function oldRank({ before, after, ranks: [old, now] = [0, 0] }) {
  if (old === now || Math.max(before, after) < SMALLEST) return { was: '', title: '' };
  return { was: formerRank(old), title: _('rank before the change: {rank}', { rank: old }) };
}

/**
 * Returns the rows in the order of the new probabilities. `index` is the row's place in the given order; `was` is a text
 * with the row's rank before the change, if the rank has changed, and `title` its long form.
 * @param {{label: string, before: number, after: number, ranks?: [number, number], right: boolean}[]} rows the tokens
 *   with the largest probability before or after; `ranks` are their ranks among all tokens, before and after
 */
export function rankedRows(rows, changed) {
  if (!changed) return rows.map((row, index) => ({ ...row, index, was: '', title: '' }));
  return rows.map((row, index) => ({ ...row, index, ...oldRank(row) })).sort((one, other) => other.after - one.after);
}

/**
 * Returns the top-1 prediction, {token, verdict, before, className}, or null without rows. `known` is true if the right
 * answer is known. className is right, wrong (the prediction was right before the change), missed (it was not right
 * before either), turned (another prediction, right answer unknown), or same.
 */
export function effectAnswer({ rows, known }, changed) {
  if (!rows.length) return null;
  const [old, now] = ['before', 'after'].map(when => likeliest(rows, when));
  const text = tokenText(now.label).trim();
  const token = /[\p{L}\p{N}]/u.test(text) ? text : quoteToken(now.label); // a full stop alone is hardly visible
  const isOther = changed && old.label !== now.label;
  const before = isOther ? _('before: {token}', { token: quoteToken(old.label) }) : '';
  if (now.right) return { token, before, verdict: _('✓ right'), className: 'right' };
  if (known) return { token, before, verdict: _('✗ wrong'), className: changed && old.right ? 'wrong' : 'missed' };
  if (!changed) return { token, before, verdict: '', className: 'same' };
  return { token, before, verdict: isOther ? _('changed') : _('unchanged'), className: isOther ? 'turned' : 'same' };
}

/**
 * Returns the effect in one line, {title, text, verdict}: the top-1 predictions before and after the change, the loss.
 * In parentheses: the new probability of a token that is no longer the top-1 prediction.
 */
export function effectPeek(data, shown) {
  const lines = factLines(data, shown);
  const verdict = lines.find(line => line.verdict)?.verdict ?? null;
  if (!shown?.rows.length) return { title: lines[0].name, text: lines[0].text, verdict };
  const { rows } = shown;
  const [old, now] = ['before', 'after'].map(when => likeliest(rows, when));
  const answer = ({ label }, share) => `${quoteToken(label)} ${formatPercent(share)}`;
  const before = answer(old, old.before);
  if (!data.changed) return { title: shown.title, text: before, verdict };
  const after =
    old.label === now.label ? formatPercent(now.after) : `${answer(now, now.after)} (${answer(old, old.after)})`;
  return { title: shown.title, text: `${before} → ${after}`, verdict };
}

/** Returns a token's value in the strip: the change, or the value if there is no old value; null if unknown. */
export const stripValue = ({ before, after }) => (after === null ? null : before === null ? after : after - before);

/**
 * Returns {steps, single}: each token's step on the colour scale, or null. `single` is true if values are not changes.
 */
export function stripSteps(tokens, { worse_is_more: losses }) {
  const values = tokens.map(stripValue);
  const single = tokens.some(({ before, after }) => before === null && after !== null);
  const most = Math.max(losses ? RANGE : LEAST, ...values.map(value => Math.abs(value ?? 0)));
  const step = single ? weightStep : differenceStep;
  return { single, steps: values.map(value => (value === null ? null : step(value, most))) };
}

/** Returns the sentence about a token of the strip, with the most probable tokens at its position, if known. */
export function stripSentence(entry, strip) {
  const about = valueSentence(entry, strip);
  const list = entry.top
    ?.map(([token, probability]) => `${quoteToken(token)} ${formatPercent(probability)}`)
    .join(', ');
  return list ? _('{about}; predicted here: {list}', { about, list }) : about;
}

function valueSentence({ token, before, after }, { unit, worse_is_more: judged, what = '' }) {
  const names = { token: quoteToken(token), what, now: after?.toFixed(3), unit };
  if (after === null) return what ? _('{token}: no {what}', names) : _('{token}: unknown', names);
  if (before === null) return _('{token}: {what} {now} {unit}', names).replace(/ {2,}/g, ' ').trim();
  const change = after - before;
  return _('{token}: {what} {before} → {now} ({change}, {word})', {
    ...names,
    before: before.toFixed(3),
    change: shownChange(before, after),
    word: changeVerdict(change, judged)[1],
  }).replace(/ {2,}/g, ' ');
}

/** Returns the legend of the strip's colours. */
export function stripLegend({ worse_is_more: judged }, single) {
  if (single && judged) return _('stronger colour: higher loss');
  if (single) return _('stronger colour: more');
  return judged ? _('blue: better · orange: worse') : _('blue: less · orange: more');
}

/**
 * Returns the size class of a strip for a number of tokens. There are only three, so that typing rarely moves the page.
 */
export const stripSize = count => (count <= 24 ? 'short' : count <= 64 ? 'medium' : 'long');
