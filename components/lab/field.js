// The text field: the text for the model, the examples, the number of tokens, and notices about the text.

import { cutText } from '../core/format.js';
import { mostForgetful } from '../core/stage/weights.js';
import { _ } from '../core/texts.js';
import { make, setAttribute, setText } from '../widgets/dom.js';
import { createMenu } from '../widgets/menu.js';

const PAUSE = 250; // ms without a key after which the text is computed
const MOST = 20_000; // UTF-16 units of a text, if the payload names no limit

/** Creates {element, show(data, view), box}. */
export function createField(state) {
  const box = make('input', {
    type: 'text',
    dir: 'auto',
    spellcheck: false,
    autocomplete: 'off',
    translate: false,
    enterKeyHint: 'done',
    attributes: { autocapitalize: 'off', autocorrect: 'off', 'aria-label': _('Text for the model') },
  });
  const examples = createMenu({
    text: _('Examples'),
    entries: () =>
      (state.data.examples ?? []).map(({ title, text }) => ({
        text: title || text,
        note: title ? text : '',
        act: () => {
          box.value = text;
          send();
        },
      })),
  });
  const note = make('div', { className: 'notes' });
  const forgets = make('button', { type: 'button', className: 'link' });
  const tokens = make('span');
  const notice = make('p', { className: 'notice', attributes: { role: 'status' } });
  note.append(forgets, tokens);
  const element = make(
    'div',
    { className: 'field-row' },
    make('label', { className: 'field' }, make('span', { textContent: _('Text') }), box, examples.element),
    note,
    notice,
  );
  let shown = ''; // the text that was typed here or set by `show`
  let composing = false; // an input method composes letters into characters
  let timer = 0;

  const send = () => {
    clearTimeout(timer);
    const count = box.value.length;
    const text = cutText(box.value, state.data.most ?? MOST);
    if (text.length < count) box.value = text;
    else if (text === shown) return;
    shown = text;
    state.send({ type: 'text', text, ...(text.length < count && { count }) });
    state.refresh();
  };
  box.addEventListener('beforeinput', event => {
    const text = event.data ?? event.dataTransfer?.getData('text/plain') ?? '';
    if (!/[\r\n]/.test(text)) return;
    // a field of one line would join the words around a line break
    event.preventDefault();
    document.execCommand('insertText', false, text.replaceAll(/\r\n|[\r\n]/g, ' '));
  });
  box.addEventListener('input', () => {
    clearTimeout(timer);
    if (!composing) timer = setTimeout(send, PAUSE);
  });
  box.addEventListener('compositionstart', () => (composing = true));
  box.addEventListener('compositionend', () => {
    composing = false;
    timer = setTimeout(send, PAUSE);
  });
  box.addEventListener('keydown', event => {
    if (event.key === 'Enter' && !event.isComposing) send();
    if (event.key === 'Escape') box.blur();
  });
  box.addEventListener('blur', send);
  forgets.onclick = () => state.openTool('layer', 'layer.forgets', { layer: Number(forgets.dataset.layer) });

  return {
    element,
    box,
    close: () => {
      clearTimeout(timer);
      examples.close();
    },
    show(data, view) {
      const typed = state.waiting().findLast(({ type }) => type === 'text');
      const text = typed ? typed.text : data.text;
      const isTyping = box.getRootNode().activeElement === box && box.value !== shown;
      if (text !== shown && !composing && !isTyping) {
        box.value = text;
        shown = text;
      }
      examples.element.hidden = !data.examples?.length;
      const count = data.tokens.text.length;
      setText(tokens, count === 1 ? _('1 token') : _('{n} tokens', { n: count }));
      const most = mostForgetful(data.arrays.mask, view.look + 1);
      forgets.hidden = !most;
      if (most) {
        setText(forgets, _('Layer {layer} hides {hidden} of {count} words', { ...most, layer: most.layer + 1 }));
        setAttribute(forgets, 'data-layer', most.layer);
      }
      const message = [data.notice?.message, ...(data.problems ?? [])].filter(Boolean).join(' ');
      setText(notice, message);
      notice.hidden = !message;
      element.classList.toggle('wrong', Boolean(data.notice && data.notice.start !== undefined));
    },
  };
}
