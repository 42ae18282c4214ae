// The text field: the text for the model, the examples, the number of tokens, and notices about the text.

import { cutText } from '../core/format.js';
import { mostForgetful } from '../core/stage/weights.js';
import { _ } from '../core/texts.js';
import { make, makeButton, setAttribute, setChildren, setText } from '../widgets/dom.js';
import { createMenu } from '../widgets/menu.js';

const PAUSE = 250; // ms without a key after which the text is computed
const MOST = 200_000; // UTF-16 units of a text, as MAX_TEXT of app/state/lab_state.py

const UNKNOWN = '[?]'; // stands for the hidden word

/** Creates {element, show(data, view), box}. */
export function createField(state) {
  const box = make('input', {
    type: 'text',
    dir: 'auto',
    spellcheck: false,
    autocomplete: 'off',
    translate: false,
    enterKeyHint: 'done',
    autocapitalize: 'off',
    autocorrect: 'off',
    'aria-label': _('Text for the model'),
  });
  const examples = createMenu({
    ...{ text: _('Examples'), className: 'item' },
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
  const note = make('div.notes.wrap.muted.nowrap');
  const forgets = make('button.link');
  const tokens = make('span');
  const notice = make('p.notice', { role: 'status' });
  const actions = make('span');
  note.append(forgets, tokens);
  const file = make('input', { type: 'file', className: 'spoken', accept: 'image/png,image/jpeg,image/webp' });
  const upload = make('label.button.small.upload', _('A picture (JPEG or PNG)'), file);
  file.onchange = async () => {
    if (!file.files[0]) return;
    state.send({ type: 'picture', data: await smallPicture(file.files[0]) });
    state.refresh();
  };
  const typed = make('label.field.flex.muted.nowrap', make('span', { textContent: _('Text') }), box, examples.element);
  const element = make('div.field-row', typed, upload, note, notice, actions);
  let shown = ''; // the text that was typed here or set by `show`
  let hidden = ''; // the hidden word of a lesson in its brackets; the field shows UNKNOWN until the answer is shown
  let composing = false; // an input method composes letters into characters
  let timer = 0;

  const send = () => {
    clearTimeout(timer);
    const count = box.value.length;
    const text = cutText(box.value, MOST);
    if (text.length < count) box.value = text;
    else if (text === shown) return;
    shown = text;
    const whole = hidden ? text.replace(UNKNOWN, () => hidden) : text;
    state.send({ type: 'text', text: whole, ...(text.length < count && { count }) });
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
  forgets.onclick = () => state.openTool('layer', 'layer.forget', { layer: Number(forgets.dataset.layer) });

  return {
    element,
    box,
    close: () => {
      clearTimeout(timer);
      examples.close();
    },
    show(data, view) {
      const newest = state.waiting().findLast(({ type }) => type === 'text');
      const whole = newest ? newest.text : data.text;
      hidden = (data.lesson && data.hidden && whole?.match(/\[[^\]]+\]/)?.[0]) || '';
      const text = hidden ? whole.replace(hidden, UNKNOWN) : whole;
      const isTyping = box.getRootNode().activeElement === box && box.value !== shown;
      if (text !== shown && !composing && !isTyping) {
        box.value = text;
        shown = text;
      }
      typed.hidden = Boolean(data.picture) || data.text === null; // a notebook's cell has the text
      upload.hidden = !data.picture;
      examples.element.hidden = !data.examples?.length;
      const count = data.tokens.text.length;
      setText(tokens, count === 1 ? _('1 token') : _('{n} tokens', { n: count }));
      const most = mostForgetful(data.arrays.mask, view.look + 1);
      forgets.hidden = !most;
      if (most) {
        setText(forgets, _('Layer {layer} hides {hidden} of {count} tokens', { ...most, layer: most.layer + 1 }));
        setAttribute(forgets, 'data-layer', most.layer);
      }
      const message = [data.notice?.message, ...(data.problems ?? [])].filter(Boolean).join(' ');
      setText(notice, message);
      notice.hidden = !message;
      showActions(actions, data.notice?.actions ?? [], state);
      element.classList.toggle('wrong', Boolean(data.notice && data.notice.start !== undefined));
    },
  };
}

const SIDE = 1024; // px of the longer side of a picture that is sent
const BYTES = 1_300_000; // largest file that is sent as it is

/** Returns a picture's file as base64; a large one is first made smaller, because a model sees far fewer pixels. */
async function smallPicture(file) {
  let bytes = file;
  if (file.size > BYTES) {
    const image = await createImageBitmap(file).catch(() => null);
    if (!image) return '';
    const scale = Math.min(1, SIDE / Math.max(image.width, image.height));
    const canvas = make('canvas', { width: Math.round(image.width * scale), height: Math.round(image.height * scale) });
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
    bytes = await new Promise(done => canvas.toBlob(done, 'image/jpeg', 0.95));
  }
  const codes = Array.from(new Uint8Array(await bytes.arrayBuffer()), code => String.fromCharCode(code));
  return btoa(codes.join(''));
}

/** Shows the buttons of a notice, like the one that removes a space at the end of the text. */
function showActions(element, actions, state) {
  const button = ({ name, label, pressed, tip = '' }) => {
    const onclick = () => {
      state.send({ type: 'notice', name });
      state.refresh();
    };
    return makeButton('link', label, onclick, {
      title: tip,
      ...(pressed !== undefined && { 'aria-pressed': pressed }),
    });
  };
  setChildren(element, actions, () => actions.map(button));
}
