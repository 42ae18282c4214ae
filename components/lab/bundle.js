// The strings of the selected head, one from the dot of each word that it looks at; and edges between heads that a tool
// has measured.

import { cssColour } from '../core/attention/scales.js';
import { formatNumber } from '../core/format.js';
import { nodeStringPath, px, stringPath, stringWidth } from '../core/stage/drawing.js';
import { NUMBERED, SHOWN } from '../core/stage/weights.js';
import { nodeBelow } from './line.js';
import { rowOf } from './rows.js';

const LEAST_TINT = 0.06; // a string has at least the colour of this weight

/** Draws the dots and strings of the selected head. With `draws`, strings are drawn from the dots to the tile. */
export function drawStrings(drawing, draws) {
  const { places, shown, marks, state, words, view, line } = drawing;
  const row = rowOf(drawing);
  if (row && row.keys === words.row && places.words.length && shown.row) {
    const tint = weight => cssColour(state.dark, 'attention', Math.sqrt(weight));
    const { scope, head } = shown.selection;
    const node = nodeOf(drawing, row); // of the looking word, if the line to the answer is above it
    const isLowest = row === places.rows.find(({ keys }) => keys === words.row);
    const all = places.words.map(({ x }, j) => ({ j, x, y: row.dots, ...(j === shown.query ? node : null) }));
    const isFree = ({ x }) => isLowest || !line || x < places.x + 8; // the answer stands further to the right
    const dots = all.filter(dot => shown.row[dot.j] >= SHOWN && isFree(dot));
    if (scope === 'head') {
      const { constant, gate } = view.heads[row.kind][row.layer][head];
      const tile = { x: row.xs[head], y: row.bottom };
      const strong = dots.filter(({ j }) => shown.row[j] >= NUMBERED);
      for (const { j, ...dot } of strong.sort((one, other) => shown.row[one.j] - shown.row[other.j])) {
        const pathOf = node && j === shown.query ? nodeStringPath : stringPath;
        const look = stringLook(shown.row[j], { constant, pruned: gate === 0 }, tint);
        const path = marks.mark(`string ${j}`, 'path', { ...look, d: pathOf(dot, tile, places.width, places.gap) });
        if (draws && gate > 0) grow(path);
      }
    }
    if (shown.used) {
      for (const { j, x, y } of dots) {
        const style = `fill: ${tint(shown.row[j])}`;
        marks.mark(`dot ${j}`, 'circle', { class: 'dot', cx: px(x), cy: px(y), r: 4.5, style });
      }
      const looking = node || shown.queries === words.row ? all[shown.query] : null;
      if (looking && isFree(looking))
        marks.mark('looks', 'circle', { class: 'ring', cx: px(looking.x), cy: px(looking.y), r: node ? 9 : 6.5 });
    }
  }
  if (state.overlay.feeds) drawFeeds(drawing);
}

function nodeOf({ places, shown, line }, row) {
  const onLine = line && row.layer > 0 && shown.query === shown.at;
  if (!onLine || !(Math.abs(places.words[shown.query]?.x - places.x) < 6)) return null;
  return { x: places.x, y: nodeBelow(places, row) };
}

function stringLook(weight, { constant, pruned }, tint) {
  if (pruned) return { class: 'string pruned', style: 'stroke-width: 1.2px' };
  const style = `stroke-width: ${px(stringWidth(weight))}px`;
  if (constant) return { class: 'string constant', style: `${style}; opacity: ${px(0.2 + 0.6 * weight)}` };
  return { class: 'string', style: `${style}; stroke: ${tint(Math.max(LEAST_TINT, weight))}` };
}

function grow(path) {
  const length = path.getTotalLength();
  path.animate(
    [
      { strokeDasharray: length, strokeDashoffset: length },
      { strokeDasharray: length, strokeDashoffset: 0 },
    ],
    { duration: 450, easing: 'ease-out' },
  );
}

/** Draws edges from other heads to the selected head: the measured change of its contribution when they are pruned. */
function drawFeeds(drawing) {
  const { places, marks, state, shown } = drawing;
  const to = rowOf(drawing);
  if (!to || shown.selection.scope !== 'head') return;
  for (const { kind, layer, head, value } of state.overlay.feeds) {
    const from = places.rows.find(row => row.kind === kind && row.layer === layer);
    if (!from || from === to) continue;
    const [x, end] = [from.xs[head], to.xs[shown.selection.head]];
    const [up, down] = [from.bus - 4, to.bottom + places.gap * 0.45];
    const beside = x + from.half + 22;
    const rise = from.layer < to.layer - 1 ? `H${px(beside)}V${px(down)}` : `V${px(down + 6)}`;
    const shift = x === end ? 0 : x < end ? -8 : 8;
    const name = `${kind} ${layer} ${head}`;
    const against = value < 0 ? 'against' : '';
    const d = `M${px(x)} ${px(from.top)}V${px(up)}${rise}H${px(end + shift)}V${px(to.bottom)}`;
    marks.mark(`feeds ${name}`, 'path', { class: `feeds ${against}`, d });
    marks.mark(
      `value ${name}`,
      'text',
      { class: `value ${against}`, x: px(x + 7), y: px(up - 2) },
      formatNumber(value, 2, true),
    );
  }
}
