// One button per word of the text. The word of a pressed button is hidden from the model, which then predicts the word.

import { _ } from '../core/texts.js';
import { defineComponent } from '../runtime/component.js';
import { make, setAttribute } from '../widgets/dom.js';

function create(state) {
  const list = make('div', { className: 'words', attributes: { role: 'group', 'aria-label': _('Hide words') } });
  const line = make(
    'div',
    { className: 'line', hidden: true },
    make('span', { className: 'name', textContent: _('Hide words'), attributes: { 'aria-hidden': true } }),
    list,
  );
  list.addEventListener('click', event => {
    const index = [...list.children].indexOf(event.target.closest('button'));
    if (index < 0) return;
    const [word, hidden] = shownWords(state)[index];
    state.send({ type: 'hide', index, word, hidden: !hidden });
    state.refresh();
  });
  state.root.append(line);
  return { line, list };
}

/** Returns [word, whether the word is hidden] of each word, after the clicks that Python has not handled yet. */
function shownWords(state) {
  const words = state.data.words.map(([word, hidden]) => [word, hidden]);
  for (const { index, word, hidden } of state.waiting()) if (words[index]?.[0] === word) words[index][1] = hidden;
  return words;
}

function update(state) {
  const words = shownWords(state);
  const { line, list } = state;
  line.hidden = !words.length;
  // Elements are reused, so that the focus stays.
  while (list.children.length > words.length) list.lastChild.remove();
  while (list.children.length < words.length)
    list.append(make('button', { type: 'button', dir: 'auto', translate: false }));
  words.forEach(([word, hidden], index) => {
    const button = list.children[index];
    if (button.textContent !== word) button.textContent = word;
    setAttribute(button, 'aria-pressed', hidden);
  });
}

export const hiding = defineComponent({ create, update });
