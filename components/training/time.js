// The curve of a training's accuracy on held-out sequences, and the slider over its moments.

import { axisTicks } from '../core/stage/tools.js';
import { curveScale, momentOfKey, nearestMoment } from '../core/stage/training.js';
import { _ } from '../core/texts.js';
import { make, makeButton, setAttribute, setText } from '../widgets/dom.js';
import { svgElement } from '../widgets/menu.js';

const HEIGHT = 160; // px
const LOW = 112; // px in a lesson in large type, where all is on one screen
const EDGES = { left: 46, top: 10 };
const BELOW = 24; // px below the curve
const RIGHT = 20; // px right of the curve
const THUMB = 8; // px from the end of the slider to the middle of its handle there
const DASHES = ['', '6 4', '2 3'];

/** Creates {element, show(data, index, playing)}. */
export function createTime(state) {
  const go = index => {
    state.play(0);
    state.go(index);
  };
  const slider = make('input', {
    type: 'range',
    min: 0,
    'aria-label': _('Training step'),
    oninput: () => go(nearestMoment(state.data.curves[0].curve, Number(slider.value))),
    onkeydown: event => {
      const index = momentOfKey(event.key, state.index, state.data.moments.length);
      if (index === undefined) return;
      event.preventDefault();
      go(index);
    },
  });
  const play = (way, name) => {
    const turn = () => {
      state.play(state.playing === way ? 0 : way);
      state.go(state.index);
    };
    return makeButton('button small', '', turn, { 'aria-label': name });
  };
  const [back, forth] = [play(-1, _('Play backwards')), play(1, _('Play forwards'))];
  const step = make('b');
  const names = make('span.names.wrap');
  const chart = make('div');
  const element = make(
    'section.time',
    { 'aria-label': _('Accuracy during the training') },
    chart,
    make('div.fader', { style: { margin: `0 ${RIGHT - THUMB}px 0 ${EDGES.left - THUMB}px` } }, slider),
    make('div.names.wrap', back, forth, step, names),
  );
  return {
    element,
    show(data, index, playing) {
      const { curves } = data;
      chart.replaceChildren(svgElement(drawing(data, index, Math.max(280, element.clientWidth))));
      names.replaceChildren(...curves.map((curve, place) => nameOf(state, curve, place)));
      slider.max = data.recipe.steps;
      const at = data.moments[index].step;
      if (Number(slider.value) !== at) slider.value = at;
      setAttribute(slider, 'aria-valuetext', _('Step {n}', { n: at }));
      slider.disabled = back.disabled = forth.disabled = data.active || data.moments.length < 2;
      setText(step, _('Step {n}', { n: at }));
      setText(back, playing < 0 ? '❚❚' : '◀');
      setText(forth, playing > 0 ? '❚❚' : '▶');
    },
  };
}

/** Creates the name of a curve with its last accuracy; a press on a curve beside the shown training opens it. */
function nameOf(state, { title }, place) {
  const line = ['path', { d: 'M0 2h28', class: place ? 'curve muted' : 'curve', 'stroke-dasharray': DASHES[place] }];
  const sign = svgElement(['svg', { viewBox: '0 0 28 4', width: 28, height: 4, 'aria-hidden': 'true' }, line]);
  if (!place) return make('b.inline', sign, title);
  const onclick = () => state.send({ type: 'beside', index: place - 1 });
  return make('button.inline', { onclick }, sign, title);
}

/** Returns the curves as a tree of core/picture/svg.js. */
function drawing(data, index, width) {
  const { curves, baseline } = data;
  const height = data.lesson && data.large ? LOW : HEIGHT;
  const edges = { ...EDGES, right: width - RIGHT, bottom: height - BELOW };
  const { steps } = data.recipe;
  const { x, y } = curveScale(edges, steps);
  const text = (at, level, content, anchor) => ['text', { x: at, y: level, 'text-anchor': anchor }, String(content)];
  const line = (share, look) => ['path', { class: look, d: `M${edges.left} ${y(share)}H${edges.right}` }];
  const path = curve => curve.map(([step, share], i) => `${i ? 'L' : 'M'}${x(step)} ${y(share)}`).join('');
  const now = data.moments[index];
  const summary = curves.map(({ title }) => title).join('; ');
  return [
    'svg',
    { class: 'chart', viewBox: `0 0 ${width} ${height}`, height, width, role: 'img', 'aria-label': summary },
    ...[0, 0.5, 1].flatMap(share => [
      line(share, 'scale'),
      text(edges.left - 8, y(share) + 4, `${100 * share}%`, 'end'),
    ]),
    text(edges.left + 6, y(1) + 14, _('right answers'), 'start'),
    ...axisTicks(0, steps, 6).map(tick => text(x(tick), height - 6, tick, 'middle')),
    line(baseline.share, 'baseline'),
    text(edges.right, y(baseline.share) - 5, baseline.text, 'end'),
    ...curves.map(({ curve }, place) => [
      'path',
      { d: path(curve), class: place ? 'curve muted' : 'curve ahead', 'stroke-dasharray': DASHES[place] },
    ]),
    ['path', { d: path(curves[0].curve.filter(([step]) => step <= now.step)), class: 'curve' }],
    ['circle', { cx: x(now.step), cy: y(now.accuracy), r: 6, class: 'chosen' }],
  ];
}
