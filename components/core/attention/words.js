// Words of a row: special tokens, gaps, lines, and the next word for an arrow key.

import { isLeftward } from '../format.js';
import { _ } from '../texts.js';

const MARK = /^(<[^<>]+>|\[(?!MASK\])[A-Z]+\])$/;

/** Returns whether a token was added by the tokenizer at the beginning or the end. */
export function isSpecialToken(tokens, index) {
  const token = tokens[index];
  if (index === 0 && token === _('start')) return true;
  if (index === tokens.length - 1 && token === _('end')) return true;
  return (index === 0 || index >= tokens.length - 2) && MARK.test(token);
}

/** Returns for each token whether a gap precedes it: word pieces of one word have none, marked by blanks or by `##`. */
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

/** Returns the names of tokens in sentences and labels: a later piece of a word begins with “…”. */
export function wordNames(tokens) {
  const gaps = wordGaps(tokens);
  const isPiece = (token, i) => i > 0 && !gaps[i] && /^\p{Lowercase}/u.test(token) && /\p{L}$/u.test(tokens[i - 1]);
  return tokens.map((token, i) => (isPiece(token, i) ? `…${token}` : token));
}

const CLOSES = /^\s*[.,;:!?…)\]}”’%]+$/;

/** Returns for each token whether it must stay on the line of the previous token: no line begins with a full stop. */
export const joinsPrevious = tokens =>
  tokens.map((token, i) => i > 0 && CLOSES.test(token) && tokens[i - 1] !== '\n' && !isSpecialToken(tokens, i - 1));

/** Returns whether the words of a row flow from right to left: most of its letters are of a right-to-left script. */
export function flowsLeftward(tokens) {
  const letters = tokens.filter((_, i) => !isSpecialToken(tokens, i)).flatMap(token => token.match(/\p{L}/gu) ?? []);
  return 2 * letters.filter(isLeftward).length > letters.length;
}

/** Returns the position of the next word for a key; null for Escape, undefined for other keys. */
export function nextWord(boxes, at, key) {
  const { x, y, leftward } = boxes[at];
  const [previous, next] = [Math.max(0, at - 1), Math.min(boxes.length - 1, at + 1)];
  const tops = [...new Set(boxes.map(box => box.y))].sort((one, other) => one - other);
  const line = by => {
    const on = Array.from(boxes.keys()).filter(i => boxes[i].y === tops[tops.indexOf(y) + by]);
    return on.reduce((best, i) => (Math.abs(boxes[i].x - x) < Math.abs(boxes[best].x - x) ? i : best), on[0] ?? at);
  };
  const moves = {
    ArrowLeft: () => (leftward ? next : previous),
    ArrowRight: () => (leftward ? previous : next),
    ArrowUp: () => line(-1),
    ArrowDown: () => line(1),
    Home: () => 0,
    End: () => boxes.length - 1,
    Escape: () => null,
  };
  return Object.hasOwn(moves, key) ? moves[key]() : undefined;
}
