// The effect panel: one prediction as bars, before and after; the distance between them; the loss token by token.

const ROWS = 10;
const SAME = 0.0005; // nats; less is no change, and rounds to none
const RANGE = 2; // nats of change that take the strongest colour, at least

function create(state) {
  const part = (tag, className, attributes) => lab.make(tag, { className, attributes });
  const [title, count] = [part('h2', ''), part('span', 'count')];
  const [back, forth] = [
    ['‹', 'Previous prediction', -1],
    ['›', 'Next prediction', 1],
  ].map(([text, name, step]) =>
    lab.make('button', {
      type: 'button',
      textContent: text,
      attributes: { 'aria-label': name },
      onclick: () => {
        state.send({ type: 'prediction', index: state.index + step });
        state.refresh();
      },
    }),
  );
  const pager = lab.make('div', { className: 'pager' }, back, count, forth);
  const key = part('div', 'key');
  const rows = part('div', 'rows', { role: 'list' });
  const facts = part('div', 'facts', { role: 'status' });
  const heading = lab.make('h3', { textContent: 'Loss per token, change' });
  const strip = part('div', 'strip', { role: 'list', tabindex: '0', 'aria-label': 'Loss per token, change' });
  const story = part('div', 'story', { 'aria-live': 'polite' });
  const losses = lab.make('section', { className: 'losses' }, heading, strip, story);
  state.root.append(lab.make('div', { className: 'head' }, title, pager), key, rows, facts, losses);
  strip.addEventListener('pointerover', event =>
    point(state, Array.from(strip.children).indexOf(event.target.closest('.strip > span'))),
  );
  strip.addEventListener('pointerleave', event => {
    if (event.pointerType === 'mouse') point(state, -1);
  });
  strip.addEventListener('blur', () => point(state, -1));
  strip.addEventListener('keydown', event => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    point(state, Math.max(0, Math.min(strip.children.length - 1, (state.pointed ?? -1) + step)));
  });
  return { title, pager, back, forth, count, key, rows, facts, losses, strip, story, index: 0, pointed: -1 };
}

function update(state, data) {
  const total = data.predictions.length;
  const wanted = state.waiting().at(-1)?.index ?? data.index;
  state.index = wanted >= 0 && wanted < total ? wanted : total - 1;
  const shown = data.predictions[state.index];
  state.title.replaceChildren(lab.make('bdi', { textContent: shown ? lab.cut(shown.title, 60) : 'No prediction' }));
  state.pager.style.visibility = total > 1 ? 'visible' : 'hidden';
  lab.write(state.count, `${state.index + 1} of ${total}`);
  state.back.disabled = state.index <= 0;
  state.forth.disabled = state.index >= total - 1;
  showKey(state, data);
  showRows(state, shown?.rows ?? [], data.changed);
  showFacts(state, shown, data);
  if (state.fresh) showLosses(state, data);
}

function showKey({ key }, { changed }) {
  const swatch = className => lab.make('i', { className });
  key.replaceChildren(
    ...(changed
      ? [swatch('before'), 'as trained', swatch('after'), 'with your change']
      : ['As trained: change a head to see what it does.']),
  );
}

/** A row is label, bars, numbers; the elements stay, so that the bars move instead of jumping. */
function showRows({ rows }, list, changed) {
  while (rows.children.length > list.length) rows.lastChild.remove();
  while (rows.children.length < Math.min(ROWS, list.length)) {
    rows.append(
      lab.make(
        'div',
        { className: 'row', attributes: { role: 'listitem' } },
        lab.make('bdi', { className: 'label' }),
        lab.make(
          'div',
          { className: 'bars', attributes: { 'aria-hidden': true } },
          lab.make('i', { className: 'before' }),
          lab.make('i', { className: 'after' }),
        ),
        lab.make('span', { className: 'numbers' }),
        lab.make('span', { className: 'points' }),
      ),
    );
  }
  rows.classList.toggle('plain', !changed);
  list.slice(0, ROWS).forEach(({ label, before, after, right }, index) => {
    const row = rows.children[index];
    const [name, bars, numbers, points] = row.children;
    row.classList.toggle('right', Boolean(right));
    lab.write(name, lab.cut(lab.token(label), 24) + (right ? ' ✓' : ''));
    name.title = right ? `${lab.token(label)}: the right answer` : lab.token(label);
    bars.children[0].style.width = `${100 * before}%`;
    bars.children[1].style.width = `${100 * after}%`;
    lab.write(numbers, changed ? `${lab.percent(before).slice(0, -1)} → ${lab.percent(after)}` : lab.percent(before));
    const change = 100 * (after - before);
    lab.write(points, changed ? lab.number(change, 1, true) : '');
    points.title = 'change in percentage points';
  });
}

/** 'worse', 'better' or 'no change', with an arrow: never told by colour alone. */
const verdict = change =>
  Math.abs(change) < SAME
    ? ['=', 'no change', 'same']
    : change > 0
      ? ['▲', 'worse', 'worse']
      : ['▼', 'better', 'better'];

function showFacts({ facts }, shown, { before, after, changed }) {
  const known = before !== null && after !== null;
  const line = (name, ...parts) =>
    lab.make('div', {}, lab.make('span', { className: 'name', textContent: name }), ...parts);
  const kl = line('KL', shown && changed ? `${shown.kl < SAME ? '0.000' : shown.kl.toFixed(3)} nats` : '–');
  const [arrow, word, className] = known ? verdict(after - before) : [];
  const loss = !known
    ? line('Loss', '–')
    : !changed
      ? line('Loss', `${before.toFixed(3)} nats`)
      : line(
          'Loss',
          `${before.toFixed(3)} → ${after.toFixed(3)} `,
          lab.make('b', { className, textContent: `${arrow} ${lab.number(after - before, 3, true)}, ${word}` }),
        );
  facts.replaceChildren(kl, loss);
}

function showLosses(state, { tokens, changed }) {
  const known = changed && tokens.some(({ before }) => before !== null);
  state.losses.style.visibility = known ? 'visible' : 'hidden';
  state.strip.replaceChildren();
  state.tokens = tokens;
  if (!known) return;
  const changes = tokens.map(({ before, after }) => (before === null || after === null ? null : after - before));
  const most = Math.max(RANGE, ...changes.map(Math.abs));
  state.strip.append(
    ...tokens.map((entry, index) => {
      const change = changes[index];
      const span = lab.make('span', { attributes: { role: 'listitem' } }, lab.bdi(entry.token));
      span.title = sentence(entry);
      span.setAttribute('aria-label', sentence(entry));
      if (change !== null) {
        const part = lab.differenceStep(change, most) / 255;
        span.style.background = lab.shade(state.dark, 'diverging', part);
        span.style.color = lab.ink(state.dark, 'diverging', part);
      } else {
        span.className = 'unknown';
      }
      return span;
    }),
  );
  state.pointed = -1;
  tell(state);
}

function sentence({ token, before, after }) {
  if (before === null || after === null) return `${lab.quoted(token)}: no loss`;
  const change = after - before;
  const words = `${lab.number(change, 3, true)}, ${verdict(change)[1]}`;
  return `${lab.quoted(token)}: loss ${before.toFixed(3)} → ${after.toFixed(3)} (${words})`;
}

function point(state, index) {
  state.pointed = index;
  Array.from(state.strip.children).forEach((span, i) => span.classList.toggle('pointed', i === index));
  tell(state);
}

const tell = ({ story, tokens, pointed }) =>
  lab.write(story, tokens[pointed] ? sentence(tokens[pointed]) : 'blue: better · orange: worse');

lab.effect = lab.component({ create, update });
