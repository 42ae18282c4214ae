// Displays the experiment of the start page. Elements are reused, so that changes of bars, arcs and answer are
// animated.

import { formatPercent } from '../core/format.js';
import { _ } from '../core/texts.js';
import { defineComponent } from '../runtime/component.js';
import { make, setAttribute, setStarredText, setText } from '../widgets/dom.js';

const SVG = 'http://www.w3.org/2000/svg';
const LEAST = 0.02; // weights below this value have no arc

function create(state) {
  const part = (tag, className, attributes) => make(tag, { className, attributes });
  const act = type => () => state.send({ type });
  const button = (className, text, onclick) =>
    make('button', { type: 'button', className, textContent: text, onclick });
  const title = part('h2', 'title');
  const question = part('p', 'question');
  const arcs = document.createElementNS(SVG, 'svg');
  arcs.setAttribute('aria-hidden', 'true');
  const line = part('div', 'line', { role: 'list', 'aria-label': _('What the model reads') });
  const looks = part('p', 'looks');
  const picture = make('div', { className: 'picture' }, make('div', { className: 'attention' }, arcs, line), looks);
  const says = make('span', { className: 'says', textContent: _('The model answers') });
  const digit = part('span', 'digit');
  const verdict = part('span', 'verdict');
  const reason = part('p', 'reason');
  const result = make(
    'div',
    { className: 'result', attributes: { role: 'status' } },
    make('p', { className: 'answer' }, says, digit, verdict),
    reason,
  );
  const sure = make(
    'p',
    { className: 'sure' },
    _('How sure the model is'),
    make('span', { textContent: _('unmodified') }),
  );
  const bars = part('div', 'bars', { role: 'list', 'aria-label': _('Probability of each answer') });
  const measured = make('div', { className: 'measured' }, sure, bars);
  const head = part('p', 'head');
  const choices = part('div', 'choices', { role: 'group', 'aria-label': _('Layer to prune') });
  const next = part('p', 'next');
  const ways = make(
    'div',
    { className: 'ways' },
    button('lesson', _('Begin with lesson 1'), act('lesson')),
    button('lab', _('Open this in the lab'), act('lab')),
    button('skip', _('Skip to the lab'), act('skip')),
  );
  state.root.append(
    make('section', { className: 'opening' }, title, question, picture, result, next, choices, measured, head, ways),
  );
  choices.addEventListener('click', event => {
    const chosen = event.target.closest('button');
    if (!chosen) return;
    state.send({ type: 'plan', plan: chosen.dataset.plan });
    state.refresh();
  });
  const sizes = new ResizeObserver(() => state.data && drawArcs(state, state.data));
  sizes.observe(line);
  return { title, question, arcs, line, looks, digit, verdict, reason, result, bars, head, choices, next, ways, sizes };
}

function update(state, data) {
  const { words, tokens, bars, choices, changed } = data;
  for (const name of ['title', 'question', 'looks', 'reason', 'head', 'next', 'verdict'])
    setStarredText(state[name], words[name]);
  if (state.digit.textContent !== data.answer) {
    setText(state.digit, data.answer);
    state.digit.classList.remove('new');
    void state.digit.offsetWidth; // forces a layout, which restarts the animation
    if (changed || state.updates) state.digit.classList.add('new');
  }
  state.root.classList.toggle('wrong', !data.right);
  state.root.classList.toggle('changed', changed);
  fill(state.line, tokens, () => make('span', { className: 'token', attributes: { role: 'listitem' } }, make('bdi')));
  tokens.forEach(({ text, weight }, index) => {
    const token = state.line.children[index];
    setText(token.firstChild, text);
    token.style.setProperty('--weight', `${Math.round(100 * weight)}%`);
    token.classList.toggle('asks', index === tokens.length - 1);
    token.classList.toggle('seen', weight >= 0.5);
  });
  fill(state.bars, bars, () =>
    make(
      'div',
      { className: 'bar', attributes: { role: 'listitem' } },
      part('bdi', 'label'),
      make('div', { className: 'track', attributes: { 'aria-hidden': true } }, part('i', 'before'), part('i', 'after')),
      part('span', 'number'),
    ),
  );
  const most = Math.max(...bars.map(({ after }) => after));
  bars.forEach(({ label, before, after, right }, index) => {
    const bar = state.bars.children[index];
    const [name, track, number] = bar.children;
    setText(name, right ? `${label} ✓` : label);
    track.children[0].style.left = `${100 * before}%`;
    track.children[1].style.width = `${100 * after}%`;
    setText(number, changed ? `${formatPercent(before)} → ${formatPercent(after)}` : formatPercent(after));
    bar.classList.toggle('right', right);
    bar.classList.toggle('top', after === most);
  });
  const waiting = state.waiting().findLast(({ type }) => type === 'plan');
  fill(state.choices, choices, () => make('button', { type: 'button' }));
  choices.forEach(({ plan, name, present }, index) => {
    const button = state.choices.children[index];
    button.dataset.plan = plan;
    setText(button, name);
    setAttribute(button, 'aria-pressed', waiting ? waiting.plan === plan : present);
    button.classList.toggle('first', index === 0 && !changed);
  });
  drawArcs(state, data);
}

const part = (tag, className) => make(tag, { className });

/** Makes the number of children equal to the number of entries; existing children are reused. */
function fill(element, entries, create) {
  while (element.children.length > entries.length) element.lastChild.remove();
  while (element.children.length < entries.length) element.append(create());
}

/** Draws an arc from the last token to each token that it attends to, as thick as the weight. */
function drawArcs({ arcs, line }, { tokens, changed }) {
  const middle = ({ offsetLeft, offsetWidth }) => offsetLeft + offsetWidth / 2;
  const [width, height] = [line.offsetWidth, 92];
  arcs.setAttribute('viewBox', `0 0 ${width} ${height}`);
  arcs.setAttribute('width', width);
  arcs.setAttribute('height', height);
  // number of arcs of the unmodified model; as many arcs of the modified model follow
  const count = Math.max(0, tokens.length - 1);
  while (arcs.children.length < 2 * count) arcs.append(document.createElementNS(SVG, 'path'));
  while (arcs.children.length > 2 * count) arcs.lastChild.remove();
  const from = middle(line.lastChild);
  tokens.slice(0, -1).forEach(({ before, weight }, index) => {
    const to = middle(line.children[index]);
    const rise = Math.min(height - 8, 24 + (from - to) * 0.28);
    const [was, path] = [arcs.children[index], arcs.children[count + index]];
    for (const arc of [was, path])
      arc.setAttribute(
        'd',
        `M${from} ${height} C${from} ${height - rise * 1.3} ${to} ${height - rise * 1.3} ${to} ${height}`,
      );
    was.classList.add('was');
    path.classList.remove('was');
    was.style.opacity = changed && before >= LEAST ? 1 : 0;
    path.style.strokeWidth = `${weight < LEAST ? 0 : 1 + 9 * weight}px`;
    path.style.opacity = weight < LEAST ? 0 : 0.25 + 0.75 * weight;
  });
}

export const opening = defineComponent({
  create,
  update,
  parts: ['numbers'],
  destroy: ({ sizes }) => sizes.disconnect(),
});
