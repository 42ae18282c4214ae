// The player of selective attention: token by token, it shows the selection scores S of each query, the selective mask
// F (accumulated S), and the masked weights. The browser computes F and the weights from S and the attention scores.

import { maskedSentence, maskingSentence } from '../core/attention/masking.js';
import { accumulateMask, maskedShare } from '../core/attention/pattern.js';
import { colourTable, cssGradient } from '../core/attention/scales.js';
import { quoteToken } from '../core/format.js';
import { cellIndex } from '../core/payload.js';
import { _ } from '../core/texts.js';
import { paintMatrix } from '../widgets/canvas.js';
import { make, pointerPosition, setAttribute, setText } from '../widgets/dom.js';
import { createMaskingBars } from './masking_bars.js';
import { createMaskingStrip } from './masking_strip.js';

const PACE = 550; // ms per token of the animation
const CALM = 1100; // ms per token of the animation with prefers-reduced-motion

/** Creates a picture of S or F up to query t: {figure, frame, draw(n, t, table, value), mark(n, column)}. */
function picture(name, text) {
  const canvas = make('canvas');
  const [row, column] = ['row', 'column'].map(className => make('i', { className }));
  const frame = make('div', { className: 'picture', attributes: { 'aria-hidden': true } }, canvas, row, column);
  return {
    frame,
    figure: make('figure', {}, make('figcaption', {}, make('b', { textContent: name }), text), frame),
    draw(n, t, table, value) {
      paintMatrix(canvas, n, n, table, (i, j) => (i <= t && j <= i ? Math.round(255 * value(i, j)) : undefined));
      Object.assign(row.style, { top: `${(100 * t) / n}%`, height: `${100 / n}%` });
    },
    mark(n, j) {
      column.hidden = j === null;
      Object.assign(column.style, { left: `${(100 * j) / n}%`, width: `${100 / n}%` });
    },
  };
}

/** Creates the player: {element, show(data, dark), pause(), stop()}. */
export function createMaskingPlayer() {
  const play = make('button', { type: 'button', textContent: _('Play') });
  const slider = make('input', { type: 'range', min: 0, step: 1, attributes: { 'aria-label': _('Token step') } });
  const step = make('span', { className: 'step' });
  const pictures = [
    picture('S', _(': selection scores of each query')),
    picture('F', _(': sum of S over earlier queries')),
  ];
  const scale = make('div', { className: 'bar' });
  const bars = createMaskingBars();
  const strip = createMaskingStrip({ onPoint: j => point(j), onKey: event => walk(event) });
  const story = make('div', { className: 'story', attributes: { 'aria-live': 'polite' } });
  const element = make(
    'div',
    { className: 'player', hidden: true },
    make('div', { className: 'transport' }, play, slider, step),
    make('div', { className: 'pictures' }, ...pictures.map(p => p.figure)),
    make('div', { className: 'key' }, '0', scale, _('100% of a key’s weight masked')),
    bars.element,
    strip.element,
    story,
  );

  let [n, t, dark, timer, pointed] = [0, 0, false, 0, null];
  // see core/attention/masking.js for `memory`
  let [scores, memory] = [null, { tokens: [], selected: null, mask: null }];
  const place = cellIndex(true);
  const forgotten = (i, j) => maskedShare(memory.mask[i * n + j]);

  const draw = () => {
    slider.max = n - 1;
    slider.value = t;
    const at = { step: t + 1, all: n, token: quoteToken(memory.tokens[t]) };
    setAttribute(slider, 'aria-valuetext', _('{step} of {all}, {token}', at));
    setText(step, _('step {step} of {all}: {token}', at));
    const table = colourTable(dark, 'sequential');
    pictures[0].draw(n, t, table, (i, j) => maskedShare(memory.selected[place(i, j)]));
    pictures[1].draw(n, t, table, forgotten);
    scale.style.background = cssGradient(dark, 'sequential');
    bars.draw(memory.tokens, scores, memory.mask, t);
    drawPointed();
  };

  const drawPointed = () => {
    strip.draw(t, pointed, j => forgotten(t + 1, j));
    for (const picture of pictures) picture.mark(n, pointed);
    setText(story, pointed === null ? maskingSentence(memory, t) : maskedSentence(memory, t, pointed));
  };

  const pause = () => {
    clearInterval(timer);
    timer = 0;
    setText(play, _('Play'));
    setAttribute(story, 'aria-live', 'polite');
  };
  const go = next => {
    t = Math.max(0, Math.min(n - 1, next));
    draw();
    if (timer && t === n - 1) pause();
  };
  const point = j => {
    if (j === pointed) return;
    pointed = j;
    drawPointed();
  };
  play.onclick = () => {
    if (timer) return pause();
    if (t === n - 1) go(0);
    const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    timer = setInterval(() => go(t + 1), calm ? CALM : PACE);
    setText(play, _('Pause'));
    // screen readers do not announce while the animation runs, because speech is slower
    setAttribute(story, 'aria-live', 'off');
  };
  slider.oninput = () => {
    pause();
    go(Number(slider.value));
  };
  for (const { frame } of pictures) {
    const column = event => Math.floor((n * pointerPosition(frame, event)[0]) / frame.clientWidth);
    for (const type of ['pointermove', 'pointerdown'])
      frame.addEventListener(type, event => point(Math.max(0, Math.min(n - 1, column(event)))));
    frame.addEventListener('pointerleave', event => {
      if (event.pointerType === 'mouse') point(null);
    });
  }
  const walk = event => {
    const next = { ArrowLeft: (pointed ?? t + 1) - 1, ArrowRight: (pointed ?? t - 1) + 1, Escape: null }[event.key];
    if (next === undefined || (next === null && pointed === null)) return;
    event.preventDefault();
    point(next === null ? null : Math.max(0, Math.min(n - 1, next)));
  };
  return {
    element,
    pause: () => {
      if (timer) pause();
    },
    stop: () => {
      clearInterval(timer);
      bars.stop();
    },
    show(data, isDark) {
      const atEnd = n === 0 || t >= n - 1;
      if (String(memory.tokens) !== String(data.rows)) {
        strip.show(data.rows);
        pointed = null;
      }
      [n, dark, scores] = [data.rows.length, isDark, data.arrays.scores.data];
      const selected = data.arrays.selected.data;
      memory = { tokens: data.rows, selected, mask: accumulateMask(selected, n) };
      t = atEnd && !timer ? n - 1 : Math.min(t, n - 1);
      draw();
    },
  };
}
