// The player of selective attention: token by token, what each query asks to forget (S), how that adds up (F), and
// what it does to the weights. All of it is computed here, from S and the scores.

const PACE = 550; // ms a token
const CALM = 1100; // ms, for those who asked for less motion

/** S or F, of the tokens that were read: {figure, frame, draw(n, t, table, value), mark(n, column)}. */
function picture(name, text) {
  const canvas = lab.make('canvas');
  const [row, column] = ['row', 'column'].map(className => lab.make('i', { className }));
  const frame = lab.make('div', { className: 'picture', attributes: { 'aria-hidden': true } }, canvas, row, column);
  return {
    frame,
    figure: lab.make('figure', {}, lab.make('figcaption', {}, lab.make('b', { textContent: name }), text), frame),
    draw(n, t, table, value) {
      lab.paint(canvas, n, n, table, (i, j) => (i <= t && j <= i ? Math.round(255 * value(i, j)) : undefined));
      Object.assign(row.style, { top: `${(100 * t) / n}%`, height: `${100 / n}%` });
    },
    mark(n, j) {
      column.hidden = j === null;
      Object.assign(column.style, { left: `${(100 * j) / n}%`, width: `${100 / n}%` });
    },
  };
}

/** {element, show(data, dark), pause(), stop()} */
lab.forgetting = () => {
  const play = lab.make('button', { type: 'button', textContent: lab._('Play') });
  const slider = lab.make('input', { type: 'range', min: 0, step: 1, attributes: { 'aria-label': lab._('Token step') } });
  const step = lab.make('span', { className: 'step' });
  const pictures = [picture('S', lab._(': what each query asks to forget')), picture('F', lab._(': all that was asked before it'))];
  const scale = lab.make('div', { className: 'bar' });
  const bars = lab.forgettingBars();
  const strip = lab.forgettingStrip({ onPoint: j => point(j), onKey: event => walk(event) });
  const story = lab.make('div', { className: 'story', attributes: { 'aria-live': 'polite' } });
  const element = lab.make(
    'div',
    { className: 'player', hidden: true },
    lab.make('div', { className: 'transport' }, play, slider, step),
    lab.make('div', { className: 'pictures' }, ...pictures.map(p => p.figure)),
    lab.make('div', { className: 'key' }, '0', scale, lab._('100% of a key’s weight taken away')),
    bars.element,
    strip.element,
    story,
  );

  let [n, t, dark, timer, pointed] = [0, 0, false, 0, null];
  let [scores, memory] = [null, { tokens: [], selected: null, mask: null }]; // of core/forgetting.js
  const place = lab.place(true);
  const forgotten = (i, j) => lab.forgotten(memory.mask[i * n + j]);

  const draw = () => {
    slider.max = n - 1;
    slider.value = t;
    const at = { step: t + 1, all: n, token: lab.quoted(memory.tokens[t]) };
    lab.set(slider, 'aria-valuetext', lab._('{step} of {all}, {token}', at));
    lab.write(step, lab._('step {step} of {all}: {token}', at));
    const table = lab.table(dark, 'sequential');
    pictures[0].draw(n, t, table, (i, j) => lab.forgotten(memory.selected[place(i, j)]));
    pictures[1].draw(n, t, table, forgotten);
    scale.style.background = lab.gradient(dark, 'sequential');
    bars.draw(memory.tokens, scores, memory.mask, t);
    drawPointed();
  };

  const drawPointed = () => {
    strip.draw(t, pointed, j => forgotten(t + 1, j));
    for (const its of pictures) its.mark(n, pointed);
    lab.write(story, pointed === null ? lab.asksToForget(memory, t) : lab.forgottenBy(memory, t, pointed));
  };

  const pause = () => {
    clearInterval(timer);
    timer = 0;
    lab.write(play, lab._('Play'));
    lab.set(story, 'aria-live', 'polite');
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
    lab.write(play, lab._('Pause'));
    lab.set(story, 'aria-live', 'off'); // nobody could listen at this pace
  };
  slider.oninput = () => {
    pause();
    go(Number(slider.value));
  };
  for (const { frame } of pictures) {
    const column = event => Math.floor((n * lab.pointerIn(frame, event)[0]) / frame.clientWidth);
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
      memory = { tokens: data.rows, selected, mask: lab.accumulate(selected, n) };
      t = atEnd && !timer ? n - 1 : Math.min(t, n - 1);
      draw();
    },
  };
};
