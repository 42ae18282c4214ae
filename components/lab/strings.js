// The lines of the picture, as one SVG: input rows, frames, lines to the answer, contributions, guesses and the strings
// of the selected head. Positions are measured once; each drawing then computes from the measured positions.

import { measureFrom } from '../widgets/dom.js';
import { drawStrings } from './bundle.js';
import { drawAnswerLine } from './line.js';
import { createMarks } from './marks.js';
import { drawHeadLines, drawWordDots } from './rows.js';

/** @type {[string, object][]} */
const HATCH = [
  ['rect', { width: 4, height: 4, fill: 'var(--paper)' }],
  ['rect', { width: 2, height: 4, fill: 'var(--against)' }],
];

/** Creates {element, measure(data, layers, end), show(...), reset(), unit}; `end` is the element of the answer. */
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
      const boxOf = measureFrom(picture);
      const middle = box => box.left + box.width / 2;
      const point = box => ({ x: middle(box), top: box.top });
      const [bus, gap, trunk] = ['--bus', '--gap', '--trunk'].map(name => number(style, name));
      const rows = layers.map(({ group, tiles, kind, layer }, index) => {
        const [first, last] = [tiles[0], tiles.at(-1)].map(({ cell }) => boxOf(cell));
        const step = tiles.length > 1 ? (middle(last) - middle(first)) / (tiles.length - 1) : 0;
        const all = boxOf(group);
        return {
          kind,
          layer,
          top: first.top,
          bottom: first.top + first.height,
          half: first.width / 2,
          xs: tiles.map((_tile, head) => middle(first) + head * step),
          right: all.left + all.width,
          bus: first.top - bus + 4,
          dots: first.top + first.height + gap - 5,
          ends: layers[index + 1]?.layer !== layer, // the last block of its layer, above which the MLP stands
          keys: data.kinds.find(each => each.kind === kind).keys,
        };
      });
      const all = words.words.map(({ button }) => boxOf(button));
      const front = data.picture ? [] : all.filter(({ top }) => top < all[0].top + 9); // the line next to the tiles
      const answer = end?.offsetParent ? boxOf(end) : null;
      const written = picture.parentElement?.querySelector('.memory');
      const [memory, slot] = [written, written?.querySelector('.word')].map(each => (each ? boxOf(each) : null));
      places = {
        width: boxOf(picture).width,
        gap,
        trunk,
        rows,
        x: rows[0].right + trunk / 2,
        end: answer ? answer.top + 0.62 * answer.height : rows.at(-1).bus - 54,
        memory: slot && { x: memory.left + memory.width + 3, y: slot.top + slot.height / 2 },
        words: words.wraps ? [] : all.map(point),
        front: front.map(point),
        bottom: boxOf(words.element).top,
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
