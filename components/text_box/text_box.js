// The text box. It shows the typed text until Python has handled this text, and Python's text otherwise.

import { cutText } from '../core/format.js';
import { _ } from '../core/texts.js';
import { defineComponent } from '../runtime/component.js';
import { make, setAttribute } from '../widgets/dom.js';

function create(state) {
  const box = make('input', {
    type: 'text',
    dir: 'auto',
    spellcheck: false,
    autocomplete: 'off',
    translate: false,
    enterKeyHint: 'done',
    attributes: { 'aria-label': _('Text'), autocapitalize: 'off', autocorrect: 'off' },
  });
  // An input method (Chinese, Japanese) composes letters into characters; the text is sent after the composition.
  box.addEventListener('input', event => {
    if (!(/** @type {InputEvent} */ (event).isComposing)) send(state);
  });
  box.addEventListener('compositionstart', () => (state.composing = true));
  box.addEventListener('compositionend', () => {
    state.composing = false;
    send(state);
  });
  state.root.append(box);
  return { box, shown: '', composing: false };
}

/** Sends the text of the box, cut to the maximum length. */
function send(state) {
  const { box, data } = state;
  const count = box.value.length;
  const text = cutText(box.value, data.most);
  if (text.length < count) box.value = text;
  else if (text === state.shown) return;
  state.shown = text;
  state.send({ type: 'text', text, ...(text.length < count && { count }) });
}

function update(state, data) {
  const { box } = state;
  const typed = state.waiting().findLast(({ type }) => type === 'text');
  const text = typed ? typed.text : data.text;
  // Setting the value clears the browser's own undo list, so the value is set only to a text that was not typed here.
  if (text !== state.shown && !state.composing) {
    box.value = text;
    state.shown = text;
  }
  setAttribute(box, 'placeholder', data.placeholder);
  setAttribute(box, 'aria-description', _('At most {most} characters', { most: data.most.toLocaleString('en') }));
}

export const text_box = defineComponent({ create, update });
