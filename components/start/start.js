// The start page. The words are tinted by the weights of one head, and an arc leads from the last word to the word that
// the head looks at most.

import { contrastColour, cssColour } from '../core/attention/scales.js';
import { tokenText } from '../core/format.js';
import { px } from '../core/stage/drawing.js';
import { formatShare } from '../core/stage/sentences.js';
import { NUMBERED, SHOWN } from '../core/stage/weights.js';
import { offerMinute } from '../lab/minute.js';
import { defineComponent } from '../runtime/component.js';
import { make, onResize, setStarredText, setText } from '../widgets/dom.js';
import { svgElement } from '../widgets/menu.js';

function create(state) {
  const [title, about, words, says] = [make('h1'), make('p.about.muted'), make('div.words.wrap'), make('p.says')];
  const arc = svgElement(['svg', { class: 'strings', 'aria-hidden': 'true' }, ['path']]);
  says.setAttribute('aria-live', 'polite');
  const [buttons, ways] = [make('div.buttons.wrap'), make('nav.ways.grid')];
  state.root.append(
    make('main.place.start', title, about, make('div.read', arc, words), make('div.ask.wrap', says, buttons), ways),
  );
  const unfollow = onResize(words, () => state.data && drawArc(state));
  offerMinute();
  return { title, about, words, says, buttons, ways, arc, unfollow };
}

function update(state, data) {
  state.root.classList.toggle('large-type', data.large);
  setText(state.title, data.title);
  setText(state.about, data.about);
  setStarredText(state.says, data.says);
  showWords(state, data);
  showActions(state, state.buttons, data.buttons, ({ name }) => [name]);
  showActions(state, state.ways, data.ways, ({ title, line }) => [
    make('b', { textContent: title }),
    make('span.muted', { textContent: line }),
  ]);
  drawArc(state);
}

/** Shows buttons; an existing one is reused, so that the focus stays on it. */
function showActions(state, place, actions, content) {
  while (place.children.length > actions.length) place.lastChild.remove();
  actions.forEach((action, index) => {
    const button = place.children[index] ?? place.appendChild(make('button'));
    button.replaceChildren(...content(action));
    const look = place === state.ways ? 'item stack' : index + 1 < actions.length ? 'button' : 'button primary';
    Object.assign(button, { className: look, onclick: () => state.send(action.event) });
  });
}

function showWords(state, { words, answer, chance, pruned }) {
  const most = words.reduce((best, { weight }, index) => (weight > words[best].weight ? index : best), 0);
  const groups = [];
  words.forEach(({ text, weight }, index) => {
    const word = make('bdi', { textContent: tokenText(text).trim(), translate: false, dir: 'auto' });
    const element = make('span.word', word);
    if (weight >= SHOWN && !pruned) {
      element.style.background = cssColour(state.dark, 'attention', Math.sqrt(weight));
      element.style.color = contrastColour(state.dark, 'attention', Math.sqrt(weight));
      if (weight >= NUMBERED) element.append(make('small', { textContent: formatShare(weight) }));
    }
    element.classList.toggle('seen', weight >= SHOWN);
    element.classList.toggle('most', index === most);
    element.classList.toggle('looks', index === words.length - 1);
    if (groups.length && !/^[\s\p{L}\p{N}]/u.test(text)) groups.at(-1).append(element);
    else groups.push(make('span.group.nowrap', element));
  });
  const slot = make('bdi', { textContent: tokenText(answer).trim(), translate: false });
  groups.at(-1).append(make('span.slot.strong', slot, make('small', { textContent: chance })));
  state.words.replaceChildren(...groups);
  state.words.classList.toggle('pruned', pruned);
}

function drawArc({ words, arc }) {
  const [most, looks] = ['.most', '.looks'].map(name => words.querySelector(name)?.getBoundingClientRect());
  if (!most || !looks) return;
  const frame = arc.getBoundingClientRect();
  const zoom = arc.clientWidth / frame.width || 1;
  const [x, y] = [most.left + most.width / 2 - frame.left, most.bottom - frame.top].map(value => value * zoom);
  const [endX, endY] = [looks.left + looks.width / 2 - frame.left, looks.top - frame.top].map(value => value * zoom);
  const bend = Math.max(14, (endY - y) * 0.62, Math.min(endY - y, Math.abs(endX - x) / 4)); // a wide curve is flat
  const curve = `C${px(x)} ${px(y + bend)} ${px(endX)} ${px(endY - bend)} ${px(endX)} ${px(endY)}`;
  // with more lines between the words, the line passes at the left of them
  const around = `v5q0 8 -8 8H0q-8 0 -8 8V${px(endY - 22)}q0 8 8 8H${px(endX - 8)}q8 0 8 8V${px(endY)}`;
  const d = `M${px(x)} ${px(y + 1)}${endY - y < 130 ? curve : around}`;
  arc.firstChild.setAttribute('d', endY > y ? d : '');
}

export const start = defineComponent({ create, update, destroy: ({ unfollow }) => unfollow() });
