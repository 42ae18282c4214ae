// Geometry of the Lab's picture in px: bars of contributions, strings of the selected head, the line to the answer, and
// the type size of the words.

const HEIGHT = 30; // px of the highest bar
const UNITS = [16, 8, 4, 2, 1]; // px per logit
const LEAST = 0.8; // px of the smallest bar that is drawn

/** Returns the px per logit: the largest unit with which every value fits into HEIGHT. */
export function logitUnit(values) {
  const most = values.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
  return UNITS.find(unit => most * unit <= HEIGHT) ?? HEIGHT / most;
}

/** Returns {y, height, against} of a bar from its baseline; null for a bar too small to draw. */
export function bar(value, unit, baseline) {
  const height = Math.abs(value) * unit;
  if (height < LEAST) return null;
  return { y: value > 0 ? baseline - height : baseline, height, against: value < 0 };
}

/** Returns whether the tick of the value before a change is drawn: it must be apart from the end of the bar. */
export const hasTick = (before, after, unit) => Math.abs(before - after) * unit >= 1.5;

/** Returns the width of the line to the answer for a probability. */
export const lineWidth = chance => 1.5 + 12.5 * chance;

/** Returns the width of the string of a weight. */
export const stringWidth = weight => 1 + 8 * weight;

const SPREAD = 26; // px between the ends of the outermost strings at the tile

/** Returns the path of a string from a dot to a tile's lower edge; it bends in the gap of its layer. */
export function stringPath(dot, tile, width) {
  const [from, to] = [dot.y - 4, tile.y + 1];
  const bend = (dot.y - tile.y) * 0.8;
  const end = tile.x + ((dot.x - tile.x) / Math.max(1, width)) * SPREAD;
  return `M${px(dot.x)} ${px(from)}C${px(dot.x)} ${px(from - bend)} ${px(end)} ${px(tile.y + bend)} ${px(end)} ${px(to)}`;
}

/** Returns the path of a string from a node of the line to the answer, left of the line and down to the tile. */
export function nodeStringPath(node, tile, width, depth) {
  const end = tile.x + ((node.x - tile.x) / Math.max(1, width)) * SPREAD;
  const [from, low, to] = [node.x - 5, tile.y + 0.8 * depth + 6, tile.y + 1];
  return `M${px(from)} ${px(node.y)}C${px(from - 21)} ${px(node.y + 26)} ${px(end)} ${px(low)} ${px(end)} ${px(to)}`;
}

/** Returns a coordinate with at most one decimal. */
export const px = value => Number(value.toFixed(1));

/** Returns a path that draws a round dot at each point, if stroked with a round cap. */
export const dotsPath = points => points.map(({ x, y }) => `M${px(x)} ${px(y)}h.01`).join('');

export const WORD_SIZE = 22; // px of the words where they fit into one line
export const SMALLEST = 13; // px below which the words wrap
export const LONG = 40; // tokens from which the words wrap

/** Returns {size, wraps}: the type size of the words in px and whether they stand in several lines. */
export function wordSize(count, natural, room, smallest = SMALLEST) {
  const fitting = (WORD_SIZE * room) / Math.max(1, natural);
  if (count >= LONG || fitting < smallest) return { size: WORD_SIZE, wraps: true };
  return { size: Math.min(WORD_SIZE, Math.floor(2 * fitting) / 2), wraps: false };
}

const WIDE = 66; // px of the answer
const NARROW = 34; // px of the longest answer
const LETTERS = 6; // longest answer of full size; 5.6 of its letters are as wide as the place

/** Returns the width of a text as a number of small letters. */
export const letters = text =>
  [...text].reduce((sum, its) => sum + (its > '\u2e7f' ? 2 : /[\p{Lu}\d_mw]/u.test(its) ? 1.35 : 1), 0);

/** Returns the type size of the answer in px. */
export function answerSize(text, largest = WIDE) {
  const length = letters(text);
  return length <= LETTERS ? largest : Math.max((NARROW * largest) / WIDE, (largest * 5.6) / length);
}

/** Returns the rows of the answer: the most likely tokens; after a change the former answer is among them. */
export function answerRows(rows, count, changed) {
  const sorted = [...rows].sort((one, other) => other.after - one.after);
  const shown = sorted.slice(0, count);
  if (!changed || !rows.length) return shown;
  const former = rows.reduce((best, row) => (row.before > best.before ? row : best));
  return shown.includes(former) ? shown : [...shown.slice(0, -1), former];
}
