// The effect panel: one prediction as bars without and with the plan, the KL divergence, and the change per token.

import { contrastColour, cssColour } from '../core/attention/scales.js';
import { flowsLeftward } from '../core/attention/words.js';
import {
  effectAnswer,
  effectRow,
  factLines,
  rankedRows,
  stripLegend,
  stripSentence,
  stripSize,
  stripSteps,
} from '../core/effect_text.js';
import { quoteToken, truncate } from '../core/format.js';
import { effectPicture, effectTable } from '../core/picture/effect.js';
import { _ } from '../core/texts.js';
import { defineComponent } from '../runtime/component.js';
import { isWideToken, joinTokens, make, setAttribute, setText, tokenElement } from '../widgets/dom.js';
import { createDownloadMenu } from '../widgets/download_menu.js';
import { termElement } from '../widgets/tip.js';
import { createEffectPeek } from './peek.js';

const ROWS = 10;

function create(state) {
  const part = (tag, className, attributes) => make(tag, { className, attributes });
  const [title, count] = [part('h2', ''), part('span', 'count')];
  const [back, forth] = [
    ['‹', _('Previous prediction'), -1],
    ['›', _('Next prediction'), 1],
  ].map(([text, name, step]) =>
    make('button', {
      type: 'button',
      textContent: text,
      attributes: { 'aria-label': name },
      onclick: () => goTo(state, state.index + step),
    }),
  );
  const pager = make('div', { className: 'pager' }, back, count, forth);
  const answer = make(
    'p',
    { className: 'answer', attributes: { role: 'status' } },
    make('bdi'),
    make('b'),
    make('span'),
  );
  const key = part('div', 'key');
  const rows = part('div', 'rows', { role: 'list' });
  const facts = part('div', 'facts', { role: 'status' });
  const heading = make('h3');
  const strip = part('div', 'strip', { role: 'list', tabindex: '0' });
  const story = part('div', 'story', { 'aria-live': 'polite' });
  const section = make('section', { className: 'losses' }, heading, story, strip);
  const numbers = make('div', { className: 'values' }, answer, key, rows, facts, section);
  const take = createDownloadMenu(() => offer(state), _('Download: the effect'));
  state.root.append(make('div', { className: 'head' }, title, pager), numbers, take.element);
  rows.addEventListener('click', event => choose(state, event.target));
  rows.addEventListener('keydown', event => {
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    choose(state, event.target);
  });
  strip.addEventListener('pointerover', event =>
    point(state, state.spans.indexOf(event.target.closest('[role="listitem"]'))),
  );
  strip.addEventListener('pointerleave', event => {
    if (event.pointerType === 'mouse') point(state, -1);
  });
  strip.addEventListener('blur', () => point(state, -1));
  strip.addEventListener('keydown', event => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    point(state, Math.max(0, Math.min(state.spans.length - 1, (state.pointed ?? -1) + step)));
  });
  return {
    take,
    peek: createEffectPeek(state.root, rows),
    ...{ title, pager, back, forth, count, answer, key, rows, facts, losses: section, heading, strip, story, numbers },
    index: 0,
    pointed: -1,
    spans: [],
    bars: [],
    shown: '',
    spelt: '',
  };
}

/** Returns the content of the download menu. */
function offer(state) {
  const { data, index, title } = state;
  const shown = data.predictions[index];
  return {
    title: title.textContent,
    about: [
      ...(data.sentence ? [quoteToken(data.sentence)] : []),
      ...(data.changed ? [_('Upper bar: unmodified; lower bar: with your change.')] : []),
    ],
    models: data.model ? [data.model] : [],
    what: 'effect',
    picture: () => effectPicture(shown, factLines(data, shown), data.changed),
    table: () => effectTable(data),
  };
}

/** Chooses the token of a row, if rows can be chosen. */
function choose(state, target) {
  const { token } = target.closest('.row')?.dataset ?? {};
  if (token) state.send({ type: 'token', token: Number(token) });
}

function goTo(state, index) {
  if (!state.data.predictions[index]) return;
  state.send({ type: 'prediction', index });
  state.refresh();
}

function update(state, data) {
  const total = data.predictions.length;
  const wanted = state.waiting().at(-1)?.index ?? data.index;
  state.index = wanted >= 0 && wanted < total ? wanted : total - 1;
  const shown = data.predictions[state.index];
  const predicts = shown || !data.facts;
  const title = shown ? truncate(shown.title, 60) : predicts ? _('No prediction') : _('Effect');
  state.title.replaceChildren(make('bdi', { textContent: title }));
  setAttribute(state.rows, 'aria-label', title);
  state.rows.hidden = !predicts;
  state.pager.hidden = total < 2;
  state.pager.parentNode.classList.toggle('single', total === 1 && Boolean(shown));
  setAttribute(state.answer.lastChild, 'data-title', title);
  setText(state.count, _('{index} of {total}', { index: state.index + 1, total }));
  // aria-disabled is set instead of `disabled`, because a disabled button would lose the focus
  setAttribute(state.back, 'aria-disabled', state.index <= 0);
  setAttribute(state.forth, 'aria-disabled', state.index >= total - 1);
  const answer = shown ? effectAnswer(shown, data.changed) : null;
  showAnswer(state, answer);
  showKey(state, data);
  showRows(state, shown?.rows ?? [], data.changed, answer?.className);
  showChosen(state, shown?.rows ?? [], data.chosen);
  showFacts(state, shown, data);
  state.peek.show(data, shown);
  if (!state.fresh) return;
  showStrip(state, data);
}

function showKey({ key }, { changed, hint }) {
  key.classList.toggle('about', changed || !hint);
  const swatch = className => make('i', { className });
  key.replaceChildren(
    ...(changed
      ? [swatch('before'), _('unmodified'), swatch('after'), _('with your change')]
      : [hint || _('Change a head to see its effect.')]),
  );
}

/** Shows the top-1 prediction in large type, with a cross if the change made the prediction wrong. */
function showAnswer({ answer, updates }, content) {
  answer.hidden = !content;
  if (!content) return;
  const [token, verdict, before] = answer.children;
  if (updates && token.textContent !== content.token && !matchMedia('(prefers-reduced-motion: reduce)').matches)
    token.animate([{ transform: 'translateY(-12px)', opacity: 0 }, {}], { duration: 400, easing: 'ease' });
  setText(token, content.token);
  setText(verdict, content.verdict);
  setText(before, content.before);
  answer.className = `answer ${content.className}`;
}

const createRow = () =>
  make(
    'div',
    { className: 'row', attributes: { role: 'listitem' } },
    make('span', { className: 'was' }),
    make('bdi', { className: 'label' }),
    make(
      'div',
      { className: 'bars', attributes: { 'aria-hidden': true } },
      make('i', { className: 'before' }),
      make('i', { className: 'after' }),
    ),
    make('span', { className: 'numbers' }),
    make('span', { className: 'points' }),
  );

/** Shows the rows, the most probable first. A row keeps its element when its rank changes, so that the bars move. */
function showRows(state, list, changed, verdict) {
  const { rows, bars: elements } = state;
  const shown = rankedRows(list.slice(0, ROWS), changed);
  while (elements.length < shown.length) elements.push(createRow());
  const order = shown.map(({ index }) => elements[index]);
  if (order.length !== rows.children.length || order.some((row, place) => rows.children[place] !== row))
    rows.replaceChildren(...order);
  rows.classList.toggle('plain', !changed);
  rows.classList.toggle('wrong', verdict === 'wrong');
  for (const entry of shown) {
    const row = elements[entry.index];
    const [was, name, bars, numbers, points] = row.children;
    const line = effectRow(entry, changed);
    row.classList.toggle('right', line.right);
    setText(was, entry.was);
    was.title = entry.title;
    setText(name, line.label);
    name.title = line.title;
    bars.children[0].style.width = `${line.before}%`;
    bars.children[1].style.width = `${line.after}%`;
    setText(numbers, line.numbers);
    setText(points, line.points);
    points.title = line.points && _('change in percentage points');
  }
}

/** Makes the rows buttons, and marks the explained token and the token with which it is compared. */
function showChosen({ rows, bars }, list, chosen) {
  rows.classList.toggle('choosing', Boolean(chosen));
  list.slice(0, ROWS).forEach(({ id }, index) => {
    const row = bars[index];
    const name = row.children[1];
    if (!chosen) {
      for (const attribute of ['role', 'tabindex', 'aria-pressed']) name.removeAttribute(attribute);
      delete row.dataset.token;
      delete name.dataset.chosen;
      return;
    }
    row.dataset.token = id;
    name.dataset.chosen = ['+', '−'][chosen.indexOf(id)] ?? '';
    setAttribute(name, 'role', 'button');
    setAttribute(name, 'tabindex', 0);
    setAttribute(name, 'aria-pressed', chosen.includes(id));
  });
}

function showFacts(state, shown, data) {
  const { facts } = state;
  const lines = factLines(data, shown);
  const names = JSON.stringify(lines.map(({ name, term, index }) => [name, term, index !== undefined]));
  // Names are replaced only if they change, so that the focus and an open tip stay.
  if (facts.dataset.names !== names) {
    facts.dataset.names = names;
    facts.replaceChildren(
      ...lines.map(({ name, term, index }) =>
        make(
          'div',
          {},
          make('span', { className: 'name' }, term ? termElement(term, name) : name),
          ' ',
          index === undefined ? make('span') : make('button', { type: 'button', className: 'position' }),
          make('b'),
        ),
      ),
    );
  }
  // Unchanged texts are not written again, because screen readers announce each write to a live region.
  lines.forEach(({ text, verdict, index: position }, index) => {
    const [, value, judged] = facts.children[index].children;
    setText(value, text);
    if (position !== undefined) value.onclick = () => goTo(state, position);
    setText(judged, verdict?.text ?? '');
    judged.className = verdict?.className ?? '';
  });
}

/** Returns the strip's default content: the change in loss per token; for the unmodified model, the loss. */
const losses = changed => ({
  unit: _('nats'),
  worse_is_more: true,
  title: changed ? _('Change in loss per token') : _('Loss per token'),
  what: _('loss'),
});

function showStrip(state, data) {
  // Elements of the strip (up to 128) are reused, because most payloads change only the colours, or nothing.
  const { tokens: sent, changed, strip: given } = data;
  const shown = JSON.stringify([sent, changed, given, state.dark]);
  if (state.shown === shown) return;
  state.shown = shown;
  const strip = given ?? losses(changed);
  const known = (changed || !given) && sent.some(({ after }) => after !== null);
  const tokens = changed ? sent : sent.map(entry => ({ ...entry, before: null }));
  // the hidden element keeps its space, so that nothing moves later
  state.losses.style.visibility = known ? 'visible' : 'hidden';
  state.strip.tabIndex = known ? 0 : -1;
  state.strip.dataset.size = stripSize(tokens.length);
  Object.assign(state, { tokens, about: strip });
  setText(state.heading, strip.title);
  setAttribute(state.strip, 'aria-label', strip.title);
  spell(state, known ? sent.map(({ token }) => token) : []);
  if (!known) return;
  const { steps, single } = stripSteps(tokens, strip);
  state.single = single;
  const scale = single ? 'sequential' : 'diverging';
  state.spans.forEach((span, index) => {
    const [step, sentence] = [steps[index], stripSentence(tokens[index], strip)];
    const part = step === null ? null : step / 255;
    span.title = sentence;
    setAttribute(span, 'aria-label', sentence);
    span.classList.toggle('unknown', part === null);
    span.style.background = part === null ? '' : cssColour(state.dark, scale, part);
    span.style.color = part === null ? '' : contrastColour(state.dark, scale, part);
  });
  tell(state);
}

/** Creates the strip's tokens, unless they are the same as before. */
function spell(state, tokens) {
  const spelt = JSON.stringify(tokens);
  if (state.spelt === spelt) return;
  state.spelt = spelt;
  state.pointed = -1;
  state.spans = tokens.map(token =>
    make(
      'span',
      { className: isWideToken(token) ? 'wide' : '', attributes: { role: 'listitem' } },
      tokenElement(token),
    ),
  );
  state.strip.dir = flowsLeftward(tokens) ? 'rtl' : 'ltr';
  state.strip.replaceChildren(...joinTokens(tokens, state.spans));
}

function point(state, index) {
  state.pointed = index;
  state.spans.forEach((span, i) => span.classList.toggle('pointed', i === index));
  tell(state);
}

const tell = ({ story, tokens, pointed, about, single }) =>
  setText(story, tokens[pointed] ? stripSentence(tokens[pointed], about) : stripLegend(about, single));

export const effect = defineComponent({
  create,
  update,
  parts: ['numbers'],
  destroy: ({ peek, take }) => {
    peek.stop();
    take.close();
  },
});
