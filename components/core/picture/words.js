// The downloads of the form Words: a picture of the text with tinted words and their numbers, and a table.

import { contrastColour, emptyStep, fadedStep, hexColour } from '../attention/scales.js';
import { flowsLeftward, wordGaps } from '../attention/words.js';
import { tokenText } from '../format.js';
import { PAPER, textWidth } from './svg.js';

const SIZE = 20; // font size of words in px
const SMALL = 12; // font size of numbers in px
const LINE = 52; // height of a line with its numbers in px
const WIDTH = 720; // width of the picture in px
const PAD = 5;

const round = value => Math.round(10 * value) / 10;

/**
 * Returns the picture of a text.
 * @param {{rows: string[][], titles: string[], steps: Map<number, number>, numbers: Map<number, string>, scale: string,
 *   at: number, opacity?: number}} words `rows` are one or two token sequences, whose words are numbered
 *   consecutively; `at` is the framed word, and `opacity` that of the tint, for a head whose gate is below 1
 */
export function wordsPicture({ rows, titles, steps, numbers, scale, at, opacity = 1 }) {
  const nodes = [];
  let [y, first] = [4, 0];
  rows.forEach((tokens, row) => {
    if (rows.length > 1) {
      nodes.push(['text', { x: PAD, y: y + SMALL, 'font-size': SMALL, fill: PAPER.faint }, titles[row]]);
      y += SMALL + 10;
    }
    const gaps = wordGaps(tokens);
    const leftward = flowsLeftward(tokens);
    let x = 0;
    tokens.forEach((token, i) => {
      const text = tokenText(token).trim();
      const width = round(Math.max(textWidth(text, SIZE), textWidth(numbers.get(first + i) ?? '', SMALL)) + 2 * PAD);
      if (gaps[i]) x += PAD;
      if (x && x + width > WIDTH) [x, y] = [0, y + LINE];
      nodes.push(...wordNodes({ x: round(leftward ? WIDTH - x - width : x), y, width, text }, first + i));
      x += width;
    });
    y += LINE + 6;
    first += tokens.length;
  });
  return { width: WIDTH, height: y, nodes };

  function wordNodes({ x, y: top, width, text }, index) {
    const step = steps.has(index) ? fadedStep(steps.get(index), opacity, scale) : undefined;
    const bare = step === undefined || step === emptyStep(scale);
    const fill = bare ? 'none' : hexColour(false, scale, step);
    const frame = index === at ? { stroke: PAPER.ink, 'stroke-width': 2 } : {};
    const ink = bare ? PAPER.ink : contrastColour(false, scale, step / 255);
    const middle = { x: round(x + width / 2), 'text-anchor': 'middle' };
    const number = numbers.get(index);
    return [
      ['rect', { x, y: top, width, height: SIZE + 8, rx: 4, fill, ...frame }],
      ['text', { ...middle, y: top + SIZE, 'font-size': SIZE, fill: ink }, text],
      ...(number ? [['text', { ...middle, y: top + SIZE + 22, 'font-size': SMALL, fill: PAPER.faint }, number]] : []),
    ];
  }
}

/** Returns the numbers of the tinted words as a table. */
export const wordsTable = ({ rows, values, first, at }) => ({
  columns: ['word', 'token', 'value', 'of_word', 'of_token'],
  rows: values.map((value, i) => [first + i + 1, rows.flat()[first + i], value, at + 1, rows.flat()[at]]),
});
