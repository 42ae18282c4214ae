// The player of selective attention: token by token, what each query asks to forget (S), how that adds up (F), and
// what it does to the weights. All of it is computed here, from S and the scores.

const PACE = 550; // ms a token
const CALM = 1100; // ms, for those who asked for less motion
const GONE = 0.5; // struck through once less than this part of the weight is left

/** {element, show(data, dark), pause(), stop()} */
lab.forgetting = () => {
  const play = lab.make('button', { type: 'button', textContent: lab._('Play') });
  const slider = lab.make('input', { type: 'range', min: 0, step: 1, attributes: { 'aria-label': lab._('Token step') } });
  const step = lab.make('span', { className: 'step' });
  const picture = (name, text) => {
    const canvas = lab.make('canvas');
    const [row, column] = ['row', 'column'].map(className => lab.make('i', { className }));
    const frame = lab.make('div', { className: 'picture', attributes: { 'aria-hidden': true } }, canvas, row, column);
    return {
      canvas,
      row,
      column,
      frame,
      figure: lab.make('figure', {}, lab.make('figcaption', {}, lab.make('b', { textContent: name }), text), frame),
    };
  };
  const pictures = [picture('S', lab._(': what each query asks to forget')), picture('F', lab._(': all that was asked before it'))];
  const scale = lab.make('div', { className: 'bar' });
  const bars = lab.forgettingBars();
  const strip = lab.make('div', {
    className: 'strip',
    tabIndex: 0,
    attributes: { role: 'group', 'aria-label': lab._('Tokens and how much of each is left') },
  });
  const story = lab.make('div', { className: 'story', attributes: { 'aria-live': 'polite' } });
  const element = lab.make(
    'div',
    { className: 'player', hidden: true },
    lab.make('div', { className: 'transport' }, play, slider, step),
    lab.make('div', { className: 'pictures' }, ...pictures.map(p => p.figure)),
    lab.make('div', { className: 'key' }, '0', scale, lab._('100% of a key’s weight taken away')),
    bars.element,
    strip,
    story,
  );

  let [tokens, n, t, dark, timer, pointed] = [[], 0, 0, false, 0, null];
  let [selected, scores, mask] = [null, null, null];
  const place = lab.place(true);
  const forgotten = (i, j) => lab.forgotten(mask[i * n + j]);

  const draw = () => {
    slider.max = n - 1;
    slider.value = t;
    const at = { step: t + 1, all: n, token: lab.quoted(tokens[t]) };
    lab.set(slider, 'aria-valuetext', lab._('{step} of {all}, {token}', at));
    lab.write(step, lab._('step {step} of {all}: {token}', at));
    const table = lab.table(dark, 'sequential');
    const level = part => Math.round(255 * part);
    const visible = (i, j) => i <= t && j <= i;
    lab.paint(pictures[0].canvas, n, n, table, (i, j) =>
      visible(i, j) ? level(lab.forgotten(selected[place(i, j)])) : undefined,
    );
    lab.paint(pictures[1].canvas, n, n, table, (i, j) => (visible(i, j) ? level(forgotten(i, j)) : undefined));
    for (const { row } of pictures) Object.assign(row.style, { top: `${(100 * t) / n}%`, height: `${100 / n}%` });
    scale.style.background = lab.gradient(dark, 'sequential');
    bars.draw(tokens, scores, mask, t);
    drawStrip();
    tell();
  };

  const drawStrip = () => {
    Array.from(strip.children).forEach((span, j) => {
      const gone = j <= t ? forgotten(t + 1, j) : 0;
      const [token, left] = span.children;
      span.className = [j > t && 'later', j === t && 'now', gone > GONE && 'gone', j === pointed && 'pointed']
        .filter(Boolean)
        .join(' ');
      token.style.opacity = 1 - 0.6 * gone;
      lab.write(left, gone > 0.005 ? `${gone > 0.995 ? '<1' : Math.round(100 * (1 - gone))}%` : '');
    });
    for (const { column } of pictures) {
      column.hidden = pointed === null;
      Object.assign(column.style, { left: `${(100 * pointed) / n}%`, width: `${100 / n}%` });
    }
    const span = strip.children[pointed ?? t];
    if (span.offsetTop < strip.scrollTop || span.offsetTop + span.offsetHeight > strip.scrollTop + strip.clientHeight) {
      strip.scrollTop = span.offsetTop - strip.clientHeight / 2;
    }
  };

  /** What was said against token j up to now, or what the present token says against others; strongest first. */
  const tell = () => {
    const most = (list, name) =>
      list
        .filter(([, s]) => s > 0.005)
        .sort((a, b) => b[1] - a[1])
        .slice(0, 3)
        .map(([i, s]) => `${name(i)} (S ${s.toFixed(2)})`)
        .join(', ');
    const name = i => lab.quoted(tokens[i]);
    if (pointed !== null && pointed > t) return lab.write(story, lab._('{token} has not been read yet', { token: name(pointed) }));
    if (pointed !== null) {
      const by = most(
        Array.from({ length: t + 1 - pointed }, (_, k) => [k + pointed, selected[place(k + pointed, pointed)]]),
        name,
      );
      const left = lab.percent(1 - forgotten(t + 1, pointed));
      return lab.write(
        story,
        by
          ? lab._('forgotten: {token} by {others}: {left} left', { token: name(pointed), others: by, left })
          : lab._('{token}: nothing was forgotten', { token: name(pointed) }),
      );
    }
    const now = most(
      Array.from({ length: t + 1 }, (_, j) => [j, selected[place(t, j)]]),
      name,
    );
    return lab.write(
      story,
      now
        ? lab._('{token} asks to forget {others}', { token: name(t), others: now })
        : lab._('{token} asks to forget nothing', { token: name(t) }),
    );
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
    drawStrip();
    tell();
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
  const under = event => Array.from(strip.children).indexOf(event.target.closest('.strip > span'));
  strip.addEventListener('pointerover', event => {
    if (under(event) >= 0) point(under(event));
  });
  strip.addEventListener('pointerleave', event => {
    if (event.pointerType === 'mouse') point(null);
  });
  for (const { frame } of pictures) {
    const column = event => Math.floor((n * (event.clientX - frame.getBoundingClientRect().left)) / frame.clientWidth);
    for (const type of ['pointermove', 'pointerdown'])
      frame.addEventListener(type, event => point(Math.max(0, Math.min(n - 1, column(event)))));
    frame.addEventListener('pointerleave', event => {
      if (event.pointerType === 'mouse') point(null);
    });
  }
  strip.addEventListener('blur', () => point(null));
  strip.addEventListener('keydown', event => {
    const next = { ArrowLeft: (pointed ?? t + 1) - 1, ArrowRight: (pointed ?? t - 1) + 1, Escape: null }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    point(next === null ? null : Math.max(0, Math.min(n - 1, next)));
  });
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
      if (String(tokens) !== String(data.rows)) {
        strip.replaceChildren(...data.rows.map(token => lab.make('span', {}, lab.bdi(token), lab.make('small'))));
        pointed = null;
      }
      [tokens, n, dark] = [data.rows, data.rows.length, isDark];
      [selected, scores] = [data.arrays.selected.data, data.arrays.scores.data];
      mask = lab.accumulate(selected, n);
      t = atEnd && !timer ? n - 1 : Math.min(t, n - 1);
      draw();
    },
  };
};
