// Selects points of a scatter: a click chooses a point, a drawn rectangle selects the points inside; the arrow keys
// move from point to point, Enter chooses, Space selects or deselects.

import { formatValue } from '../core/chart/axes.js';
import { dotsInside, nearestDot, nextDot } from '../core/chart/points.js';
import { _ } from '../core/texts.js';
import { make, pointerPosition, setText } from '../widgets/dom.js';
import { svgElement } from '../widgets/menu.js';

const REACH = 14; // distance in px from a point within which the pointer is on the point
const FAR = 5; // px of a move after which a rectangle is drawn
const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** Creates {show(), stop()}: listens on the plot of a chart with dots. */
export function createPicking(state, { plot, tip, said }) {
  let [from, at] = [null, -1];
  const dots = () => state.drawing?.dots;
  // Returns the last selection, even if Python has not answered yet, so that quick keys lose nothing.
  const pickedNow = () => state.waiting().findLast(({ type }) => type === 'pick')?.heads ?? state.data.spec.picked;
  const listening = new AbortController();
  const place = event => pointerPosition(plot, event);
  const on = (type, act) => plot.addEventListener(type, event => dots() && act(event), { signal: listening.signal });

  const tell = index => {
    at = index;
    tip.hidden = index < 0;
    state.guide?.replaceChildren();
    if (index < 0) return;
    const [x, y, , name] = state.data.spec.points[index];
    const { x: across, y: up } = state.data.spec;
    tip.replaceChildren(
      make('strong', { textContent: name }),
      ...[
        [across, x],
        [up, y],
      ].flatMap(([{ title }, value]) => [
        make('i'),
        make('span', { textContent: title }),
        make('b', { textContent: formatValue(value) }),
      ]),
    );
    const dot = dots()[index];
    const circle = { cx: dot.x, cy: dot.y, r: 9, fill: 'none', stroke: 'currentColor', 'stroke-width': 1.5 };
    state.guide.append(svgElement(['circle', circle]));
    tip.style.left = `${Math.max(0, dot.x + 16 + tip.offsetWidth > state.width ? dot.x - 16 - tip.offsetWidth : dot.x + 16)}px`;
    tip.style.top = `${plot.offsetTop + Math.max(0, dot.y - 20)}px`;
  };
  const choose = index => index >= 0 && state.send({ type: 'choose', index });
  const pick = heads => state.send({ type: 'pick', heads });

  on('pointerdown', event => {
    if (event.button || event.pointerType === 'touch') return;
    from = place(event);
    plot.setPointerCapture(event.pointerId);
  });
  on('pointermove', event => {
    const now = place(event);
    // the chart was drawn again under a pointer that did not move
    if (!from && !event.movementX && !event.movementY) return;
    if (!from) return tell(nearestDot(dots(), ...now, REACH));
    const [[x1, y1], [x2, y2]] = [from, now];
    const box = { x: Math.min(x1, x2), y: Math.min(y1, y2), width: Math.abs(x2 - x1), height: Math.abs(y2 - y1) };
    const inside = dotsInside(dots(), from, now).map(index => dots()[index]);
    state.guide.replaceChildren(
      svgElement(['rect', { ...box, fill: 'var(--accent)', 'fill-opacity': 0.12, stroke: 'var(--accent)' }]),
      ...inside.map(({ x, y }) =>
        svgElement(['circle', { cx: x, cy: y, r: 8, fill: 'none', stroke: 'var(--accent)', 'stroke-width': 2 }]),
      ),
    );
  });
  on('pointerup', event => {
    const now = place(event);
    const moved = from && Math.hypot(now[0] - from[0], now[1] - from[1]) > FAR;
    if (moved) pick(dotsInside(dots(), from, now));
    else choose(nearestDot(dots(), ...now, REACH));
    from = null;
    state.guide?.replaceChildren();
  });
  on('pointercancel', () => {
    from = null;
    tell(-1);
  });
  on('pointerleave', () => from || tell(-1));
  on('blur', () => tell(-1));
  on('keydown', event => {
    const { chosen, points } = state.data.spec;
    const start = at < 0 ? Math.max(0, chosen) : at;
    if (event.key in WAYS) tell(at < 0 ? start : nextDot(dots(), at, ...WAYS[event.key]));
    else if (event.key === 'Enter') choose(start);
    else if (event.key === ' ') {
      const picked = pickedNow();
      tell(start);
      pick(picked.includes(start) ? picked.filter(index => index !== start) : [...picked, start]);
    } else if (event.key === 'Escape' && pickedNow().length) pick([]);
    else return;
    event.preventDefault();
    const sign = pickedNow().includes(at) ? `, ${_('picked')}` : '';
    setText(said, at < 0 ? '' : `${points[at][3]}: ${tip.innerText.split('\n').slice(1).join(' ')}${sign}`);
  });
  return {
    /** After a new drawing the current point of the keyboard stays. */
    show: () => at >= 0 && at < (dots()?.length ?? 0) && plot.getRootNode().activeElement === plot && tell(at),
    stop: () => listening.abort(),
  };
}
