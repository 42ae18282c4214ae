// The text box. It shows the typed text until Python has handled this text, and Python's text otherwise. It is as high as
// the lines of its text, up to a limit in text_box.css, from which it scrolls.

import { cutText } from '../core/format.js';
import { _ } from '../core/texts.js';
import { defineComponent } from '../runtime/component.js';
import { isTouch, make, setAttribute } from '../widgets/dom.js';

const TALLEST = 4000; // characters that fill the highest box on every screen; a copy of more would slow down typing

function create(state) {
  const box = make('textarea', {
    rows: 1,
    dir: 'auto',
    spellcheck: false,
    autocomplete: 'off',
    translate: false,
    enterKeyHint: 'done',
    attributes: { 'aria-label': _('Text'), autocapitalize: 'off', autocorrect: 'off' },
  });
  box.addEventListener('beforeinput', keepOneParagraph);
  // An input method (Chinese, Japanese) composes letters into characters; the text is sent after the composition.
  box.addEventListener('input', event => {
    grow(state);
    if (!(/** @type {InputEvent} */ (event).isComposing)) send(state);
  });
  box.addEventListener('compositionstart', () => (state.composing = true));
  box.addEventListener('compositionend', () => {
    state.composing = false;
    send(state);
  });
  const place = make('div', { className: 'grow' }, box);
  state.root.append(place);
  return { box, place, shown: '', composing: false };
}

/** Sets the text of the invisible copy, whose height the box takes. */
function grow({ box, place }) {
  setAttribute(place, 'data-text', (box.value || box.placeholder).slice(0, TALLEST));
}

/** Inserts no line breaks: the Enter key ends typing on a phone, and pasted line breaks become spaces. */
function keepOneParagraph(event) {
  if (event.inputType === 'insertLineBreak' || event.inputType === 'insertParagraph') {
    event.preventDefault();
    if (isTouch()) event.target.blur();
    return;
  }
  const text = event.data ?? event.dataTransfer?.getData('text/plain') ?? '';
  if (!/[\r\n]/.test(text)) return;
  event.preventDefault();
  // unlike a new value, an inserted text becomes an entry of the browser's own undo list
  document.execCommand('insertText', false, text.replaceAll(/\r\n|[\r\n]/g, ' '));
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
  grow(state);
  setAttribute(box, 'aria-description', _('At most {most} characters', { most: data.most.toLocaleString('en') }));
}

export const text_box = defineComponent({ create, update });
