// Displays the experiment of the start page. Elements are reused, so that changes of bars, arcs and answer are
// animated.

import { formatPercent } from '../core/format.js';
import { _ } from '../core/texts.js';
import { defineComponent } from '../runtime/component.js';
import { make, setAttribute, setStarredText, setText } from '../widgets/dom.js';

const SVG = 'http://www.w3.org/2000/svg';
const LEAST = 0.02; // weights below this value have no arc
const ABOVE = 92; // height in px of the space above the words, for the arcs of layer 2
const BELOW = 34; // of those of layer 1, below the line

function create(state) {
  const part = (tag, className, attributes) => make(tag, { className, attributes });
  const act = type => () => state.send({ type });
  const button = (className, text, onclick) =>
    make('button', { type: 'button', className, textContent: text, onclick });
  const purpose = part('p', 'purpose');
  const title = part('h2', 'title');
  const question = part('p', 'question');
  const drawing = name => {
    const svg = document.createElementNS(SVG, 'svg');
    svg.setAttribute('aria-hidden', 'true');
    const text = svg.appendChild(document.createElementNS(SVG, 'text'));
    text.textContent = name;
    svg.append(document.createElementNS(SVG, 'g'));
    return svg;
  };
  const [above, below] = [drawing(_('Layer 2')), drawing(_('Layer 1'))];
  const line = part('div', 'line', { role: 'list', 'aria-label': _('What the model reads') });
  const looks = part('p', 'looks');
  const picture = make(
    'div',
    { className: 'picture' },
    make('div', { className: 'attention' }, above, line, below),
    looks,
  );
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
  const lesson = button('lesson', '', act('lesson'));
  const ways = make(
    'div',
    { className: 'ways' },
    lesson,
    button('lab', _('Open this line in Explore'), act('lab')),
    button('skip', _('Or start with a story'), act('skip')),
  );
  state.root.append(
    make(
      'section',
      { className: 'opening' },
      purpose,
      title,
      question,
      picture,
      result,
      next,
      choices,
      measured,
      head,
      ways,
    ),
  );
  choices.addEventListener('click', event => {
    const chosen = event.target.closest('button');
    if (!chosen) return;
    state.send({ type: 'plan', plan: chosen.dataset.plan });
    state.refresh();
  });
  const sizes = new ResizeObserver(() => state.data && drawArcs(state, state.data));
  sizes.observe(line);
  return {
    purpose,
    title,
    question,
    above,
    below,
    line,
    looks,
    digit,
    verdict,
    reason,
    result,
    bars,
    head,
    choices,
    next,
    lesson,
    ways,
    sizes,
  };
}

function update(state, data) {
  const { words, tokens, bars, choices, changed } = data;
  for (const name of ['purpose', 'title', 'question', 'looks', 'reason', 'head', 'next', 'verdict'])
    setStarredText(state[name], words[name]);
  if (state.digit.textContent !== data.answer) {
    setText(state.digit, data.answer);
    state.digit.classList.remove('new');
    void state.digit.offsetWidth; // forces a layout, which restarts the animation
    if (changed || state.updates) state.digit.classList.add('new');
  }
  setText(state.lesson, changed ? _('Begin the lesson on pruning') : _('Begin with lesson 1'));
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

/** Draws the arcs of both layers, each as thick as its weight: from the last token above, from the values below. */
function drawArcs({ above, below, line }, { tokens, links, changed }) {
  const source = tokens.length - 1;
  const upper = tokens.slice(0, -1).map(({ before, weight }, target) => ({ source, target, before, weight }));
  drawLayer(above, line, upper, changed, { height: ABOVE, steepness: 0.28, downward: false });
  drawLayer(below, line, links, changed, { height: BELOW, steepness: 0.1, downward: true });
}

/** Draws the arcs of one layer above the tokens, or below them if `downward`; dotted arcs are of the former weights. */
function drawLayer(svg, line, links, changed, { height, steepness, downward }) {
  const middle = ({ offsetLeft, offsetWidth }) => offsetLeft + offsetWidth / 2;
  const [text, arcs] = svg.children;
  const width = line.offsetWidth;
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  svg.setAttribute('width', width);
  svg.setAttribute('height', height);
  // The name is at the right of the arcs, where no arc is.
  text.setAttribute('x', middle(line.lastChild) + (downward ? 0 : 14));
  text.setAttribute('y', downward ? height - 12 : 24);
  // number of arcs of the unmodified model; as many arcs of the modified model follow
  const count = links.length;
  while (arcs.children.length < 2 * count) arcs.append(document.createElementNS(SVG, 'path'));
  while (arcs.children.length > 2 * count) arcs.lastChild.remove();
  const base = downward ? 0 : height;
  links.forEach(({ source, target, before, weight }, index) => {
    const [from, to] = [middle(line.children[source]), middle(line.children[target])];
    const rise = Math.min(height - 8, 24 + (from - to) * steepness) * 1.3;
    const top = downward ? rise : height - rise;
    const [was, path] = [arcs.children[index], arcs.children[count + index]];
    for (const arc of [was, path]) arc.setAttribute('d', `M${from} ${base} C${from} ${top} ${to} ${top} ${to} ${base}`);
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
