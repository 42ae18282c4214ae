// Numbers and sentences of the form Words: how much each token attends to each other token.

import { isLeftward, quoteToken } from '../format.js';
import { _ } from '../texts.js';
import { maskedShare } from './pattern.js';
import { differenceStep, tileSteps, weightStep } from './scales.js';

const LEAST = 0.01; // fractions below this value are not mentioned in a sentence
const TOLD = 4; // largest number of words that a sentence lists
const WRITTEN = 6; // largest number of words whose number is displayed beside the word

/** The patterns that the tint can show: pattern of the head, mean over the head's layer, mean over all heads. */
export const MEANS = ['head', 'layer', 'all'];

/**
 * Returns {value, exact}: `value` is a function (query, key) -> mean of the patterns after the plan, weighted by the
 * gates. Returns null if all gates are 0. The mean is computed from thumbnails, which store 255 * sqrt(weight),
 * rounded. Above 64 tokens, a thumbnail stores only the largest weight of each block of cells, and `exact` is false.
 * @param {{rows: number, columns: number, causal: boolean, sink?: boolean, gates: number[][]}} grid one grid of the
 *   payload
 * @param {Uint8Array} tiles the thumbnails of this grid
 * @param {number | null} layer the layer to average; null for all layers
 * @param {number} queries number of queries of the full map
 * @param {number} keys number of keys of the full map
 */
export function meanPattern(grid, tiles, layer, queries, keys) {
  const heads = grid.gates.flatMap((row, l) =>
    row.map((gate, h) => ({ gate, index: l * row.length + h })).filter(({ gate }) => gate > 0 && (layer ?? l) === l),
  );
  if (!heads.length) return null;
  const sink = grid.sink ? 1 : 0; // the sink has a column of its own in maps and in thumbnails
  const [tall, wide] = [Math.ceil(queries / grid.rows), Math.ceil((keys - sink) / (grid.columns - sink))];
  const whole = heads.reduce((sum, { gate }) => sum + gate, 0);
  const steps = heads.map(({ gate, index }) => ({ gate: gate / whole, step: tileSteps(tiles, index, grid) }));
  const value = (i, j) => {
    const row = Math.floor(i / tall);
    const column = sink && j === keys - 1 ? grid.columns - 1 : Math.floor(j / wide);
    return steps.reduce((sum, { gate, step }) => sum + gate * ((step(row, column) ?? 0) / 255) ** 2, 0);
  };
  return { value, exact: tall === 1 && wide === 1 };
}

const MOST_SIDE = 64; // side of the largest thumbnail in px; MAX_SIDE in models/thumbnails.py

/**
 * Returns whether a grid's thumbnails were made from maps of this size. Grid and map may receive a new text at
 * different times.
 */
export const fitsThumbnails = ({ rows, columns, sink }, queries, keys) =>
  [[rows, queries], sink ? [columns - 1, keys - 1] : [columns, keys]].every(
    ([side, count]) => side === Math.ceil(count / Math.ceil(count / MOST_SIDE)),
  );

/** Returns a function (query, key) -> fraction of the key's weight that F (`mask`, from accumulateMask) removes. */
export const maskedShares = (mask, n) => (i, j) => maskedShare(mask[i * n + j]);

/** Returns value(i, j) for the first `count` keys j. */
export const rowValues = (value, i, count) => Float64Array.from({ length: count }, (_, j) => value(i, j));

/** Returns a row divided by its sum, or zeros if the sum is 0. Rows of relu² attention need not sum to 1. */
export function rowShares(row) {
  const sum = row.reduce((a, b) => a + b, 0);
  return sum > 0 ? row.map(value => value / sum) : row.map(() => 0);
}

/** Returns the positions of the numbers with the largest absolute values, largest first; none below `least`. */
export const strongestPositions = (row, most, least = LEAST) =>
  Array.from(row.keys())
    .filter(j => Math.abs(row[j]) >= least)
    .sort((a, b) => Math.abs(row[b]) - Math.abs(row[a]) || a - b)
    .slice(0, most);

/**
 * Returns the step of a number on the colour scale, 0 to 255: linear for the fraction that F masks (`taken`), else as
 * in the matrix. The value `most` has the strongest colour.
 */
export function wordStep(what, value, most = 1) {
  if (what === 'change') return differenceStep(value, most);
  return what === 'taken' ? Math.round(255 * value) : weightStep(value, most);
}

/** Returns the label of a number beside a word: a whole percentage, with a sign for changes. */
export function wordNumber(what, value) {
  const percent = Math.round(100 * Math.abs(value));
  if (what === 'change') return `${value < 0 ? '−' : '+'}${percent}`;
  if (percent === 100 && value < 1) return '>99%';
  return `${percent}%`;
}

/** Returns the labels beside words: a Map from a word's position to its label. */
export const labelledNumbers = (what, row) =>
  new Map(strongestPositions(row, WRITTEN).map(j => [j, wordNumber(what, row[j])]));

const LABEL_GAP = 3; // smallest gap in px between two labels of a line

/**
 * Returns the labels that have room, so that no two labels of a line overlap. The first labels take precedence.
 * @param {Map<number, string>} labels by the position of the word, most important first
 * @param {{x: number, y: number}[]} boxes the horizontal middle and the top of each word
 * @param {(label: string) => number} widthOf the width of a label in px
 */
export function labelsWithRoom(labels, boxes, widthOf) {
  const placed = [];
  return new Map(
    Array.from(labels).filter(([j, label]) => {
      const { x, y } = boxes[j];
      const half = widthOf(label) / 2;
      const hasRoom = placed.every(other => other.y !== y || Math.abs(other.x - x) >= other.half + half + LABEL_GAP);
      if (hasRoom) placed.push({ x, y, half });
      return hasRoom;
    }),
  );
}

const listed = (words, row, what, self) =>
  strongestPositions(row, TOLD)
    .map(j => _('{word} {number}', { word: j === self ? _('itself') : words[j], number: wordNumber(what, row[j]) }))
    .join(_(', '));

/**
 * Returns the sentence that describes the tint of the words.
 * @param {object} reading
 * @param {'share' | 'change' | 'taken' | 'seen'} reading.what share: the query's attention to each word, as fractions;
 *   change: a difference of two patterns; taken: the fraction that F masks; seen: the attention of each query to the
 *   key
 * @param {string} reading.word the token of the query; for `seen`, the token of the key
 * @param {string[]} reading.words the tokens to which the numbers in `row` belong
 * @param {ArrayLike<number> & {some: Function}} reading.row
 * @param {number | null} [reading.self] the position of the word itself in `words`
 * @param {boolean} [reading.about] true if the numbers are approximate
 * @param {boolean} [reading.pruned] true if the head is pruned
 * @param {string} [reading.view] for differences: `change` for the change by the plan, else constant minus live
 */
export function wordSentence({ what, word: token, words: tokens, row, self = null, about, pruned, view }) {
  const word = quoteToken(token);
  const list = listed(tokens.map(quoteToken), row, what, self);
  const values = { word, list, n: row.length };
  if (pruned) return _('Pruned: the attention of {word} has no effect', values);
  if (what === 'taken')
    return list ? _('For query {word}, F masks {list}', values) : _('For query {word}, F masks nothing', values);
  if (what === 'change' && view === 'change')
    return list
      ? _('{word}, weights after minus before your changes, in percentage points: {list}', values)
      : _('{word}: the same as before your changes', values);
  if (what === 'change')
    return list
      ? _('{word}, constant minus computed weights, in percentage points: {list}', values)
      : _('{word}: constant and computed weights are the same', values);
  if (what === 'seen')
    return list ? _('{word} is attended to by {list}', values) : _('No word attends to {word}', values);
  if (!row.some(value => value > 0)) return _('{word} attends to nothing', values);
  if (!list) return _('{word} attends a little to each of {n} words', values);
  return about ? _('{word} attends to about {list}', values) : _('{word} attends to {list}', values);
}

const MARK = /^(<[^<>]+>|\[(?!MASK\])[A-Z]+\])$/;

/**
 * Returns whether a token is a special token that the tokenizer added at the beginning or the end. The special tokens
 * of the released models are shown in the visitor's language.
 */
export function isSpecialToken(tokens, index) {
  const token = tokens[index];
  if (index === 0 && token === _('start')) return true;
  if (index === tokens.length - 1 && token === _('end')) return true;
  return (index === 0 || index >= tokens.length - 2) && MARK.test(token);
}

/**
 * Returns for each token whether there is a gap before the token. Word pieces of one word have no gap between them. A
 * token that begins a word has a leading blank, or a token that continues a word has a leading `##`. With a tokenizer
 * that uses neither, each token is a word.
 */
export function wordGaps(tokens) {
  const blank = token => /^\s/.test(token);
  const some = tokens.some(blank);
  return tokens.map((token, index) => {
    if (index === 0) return false;
    if (token.startsWith('##')) return false;
    const apart = token === '[MASK]' || isSpecialToken(tokens, index) || isSpecialToken(tokens, index - 1);
    return !some || blank(token) || apart;
  });
}

const CLOSES = /^\s*[.,;:!?…)\]}”’%]+$/;

/** Returns for each token whether it must stay on the line of the previous token: no line begins with a full stop. */
export const joinsPrevious = tokens =>
  tokens.map((token, i) => i > 0 && CLOSES.test(token) && tokens[i - 1] !== '\n' && !isSpecialToken(tokens, i - 1));

const isShort = token => Array.from(token?.trim() ?? '').length === 1;

/** Returns for each token whether it and a neighbour have only one character, so that their labels would overlap. */
export const narrowTokens = tokens =>
  tokens.map((token, i) => isShort(token) && (isShort(tokens[i - 1]) || isShort(tokens[i + 1])));

const nearest = (boxes, line, x) =>
  line.reduce((best, i) => (Math.abs(boxes[i].x - x) < Math.abs(boxes[best].x - x) ? i : best));

/** Returns whether the words of a row flow from right to left: most of its letters are of a right-to-left script. */
export function flowsLeftward(tokens) {
  const letters = tokens.filter((_, i) => !isSpecialToken(tokens, i)).flatMap(token => token.match(/\p{L}/gu) ?? []);
  return 2 * letters.filter(isLeftward).length > letters.length;
}

/**
 * Returns the position of the next word for a key; null for Escape, undefined for other keys.
 * @param {{x: number, y: number, leftward?: boolean}[]} boxes for each word, the horizontal middle and the top of the
 *   word's line, and whether the words of the line flow from right to left
 */
export function nextWord(boxes, at, key) {
  const { x, y, leftward } = boxes[at];
  const [previous, next] = [Math.max(0, at - 1), Math.min(boxes.length - 1, at + 1)];
  const line = tops => {
    if (!tops.length) return at;
    return nearest(
      boxes,
      Array.from(boxes.keys()).filter(i => boxes[i].y === tops[0]),
      x,
    );
  };
  const tops = boxes.map(box => box.y);
  const moves = {
    ArrowLeft: () => (leftward ? next : previous),
    ArrowRight: () => (leftward ? previous : next),
    ArrowUp: () => line(tops.filter(top => top < y).sort((a, b) => b - a)),
    ArrowDown: () => line(tops.filter(top => top > y).sort((a, b) => a - b)),
    Home: () => 0,
    End: () => boxes.length - 1,
    Escape: () => null,
  };
  return Object.hasOwn(moves, key) ? moves[key]() : undefined;
}
