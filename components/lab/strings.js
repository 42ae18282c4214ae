// The lines of the picture, as one SVG: input rows, frames, lines to the answer, contributions, guesses and the strings
// of the selected head. Positions are measured once; each drawing then computes from the measured positions.

import { drawStrings } from './bundle.js';
import { drawAnswerLine } from './line.js';
import { createMarks } from './marks.js';
import { drawHeadLines, drawWordDots } from './rows.js';

/** @type {[string, object][]} */
const HATCH = [
  ['rect', { width: 4, height: 4, fill: 'var(--paper)' }],
  ['rect', { width: 2, height: 4, fill: 'var(--against)' }],
];

/** Creates {element, measure(data, layers, end), show(...), reset(), unit}. */
export function createStrings(state, { element: picture, words, line }) {
  const marks = createMarks(HATCH);
  let places = null; // measured positions; null where the picture has no lines (phones)
  let unit = 16; // px per logit

  const number = (style, name) => Number.parseFloat(style.getPropertyValue(name)) || 0;
  return {
    element: marks.element,
    reset: () => marks.clear(),
    get unit() {
      return unit;
    },
    measure(data, layers, end) {
      const style = getComputedStyle(picture);
      places = null;
      if (style.getPropertyValue('--lines').trim() === '0' || !layers.length) return;
      const origin = picture.getBoundingClientRect();
      const [bus, gap, trunk] = ['--bus', '--gap', '--trunk'].map(name => number(style, name));
      const rows = layers.map(({ group, tiles, kind, layer }, index) => {
        const [first, last] = [tiles[0], tiles.at(-1)].map(({ cell }) => cell.getBoundingClientRect());
        const top = first.top - origin.top;
        const middle = box => box.left - origin.left + box.width / 2;
        const step = tiles.length > 1 ? (middle(last) - middle(first)) / (tiles.length - 1) : 0;
        return {
          kind,
          layer,
          top,
          bottom: top + first.height,
          half: first.width / 2,
          xs: tiles.map((_tile, head) => middle(first) + head * step),
          right: group.getBoundingClientRect().right - origin.left,
          bus: top - bus + 4,
          dots: top + first.height + gap - 5,
          ends: layers[index + 1]?.layer !== layer, // the last block of its layer, above which the MLP stands
          keys: data.kinds.find(each => each.kind === kind).keys,
        };
      });
      const boxes = words.wraps ? [] : words.words.map(({ button }) => button.getBoundingClientRect());
      places = {
        width: origin.width,
        gap,
        trunk,
        rows,
        x: rows[0].right + trunk / 2,
        end: end === null ? rows.at(-1).bus - 54 : end - origin.top,
        words: boxes.map(box => ({
          x: box.left - origin.left + box.width / 2,
          top: box.top - origin.top,
          bottom: box.bottom - origin.top,
        })),
        bottom: words.element.getBoundingClientRect().top - origin.top,
      };
    },
    show(data, view, shown, layers, draws) {
      picture.classList.toggle('wired', Boolean(places));
      if (!places) return marks.clear();
      const drawing = { data, view, shown, places, marks, state, words, layers, line };
      marks.begin();
      drawWordDots(drawing);
      const bars = drawHeadLines(drawing, line);
      unit = bars ?? unit;
      if (line) drawAnswerLine(drawing, unit);
      drawStrings(drawing, draws && !state.still);
      marks.end();
    },
  };
}
