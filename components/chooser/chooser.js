// The choice of a model: a button with the current model, and a dialog with all models.

import { colourTable } from '../core/attention/scales.js';
import { _, currentLanguage, stateQuery } from '../core/texts.js';
import { defineComponent } from '../runtime/component.js';
import { paintMatrix } from '../widgets/canvas.js';
import { make, setAttribute, setStarredText, setText } from '../widgets/dom.js';
import { addOptionTips } from '../widgets/tip.js';

let known = null; // data of the catalogue: {offered: language -> tasks, pictures}
let current = ''; // id of the page's model

/** Receives the list of models from every run of the script; displays nothing. */
export const catalogue = defineComponent({
  create: () => ({}),
  update: (_state, data) => {
    known = data;
  },
});

const LONG = 16; // characters of a model's name; a longer name is displayed smaller and on two lines
const OWN_MODELS = 'mine'; // key of the tab with the visitor's own models

function create(state) {
  const part = (tag, className, properties = {}) => make(tag, { className, ...properties });
  const [task, title] = [part('span', 'task'), part('span', 'title')];
  const button = make(
    'button',
    { type: 'button', className: 'choose', attributes: { 'aria-haspopup': 'dialog' } },
    make('span', { className: 'names' }, task, title),
    part('span', 'arrow', { attributes: { 'aria-hidden': true } }),
  );
  const tasks = part('div', 'tasks', {
    attributes: { role: 'tablist', 'aria-label': _('Task of the model') },
  });
  const line = part('p', 'line');
  const list = part('div', 'list', { id: 'models', attributes: { role: 'tabpanel', 'aria-labelledby': 'task' } });
  const body = part('div', 'body', {}); // scrolls below the title and the tabs, which stay in view
  body.append(line, list);
  const close = make('button', { type: 'button', textContent: '×', attributes: { 'aria-label': _('Close') } });
  const head = make(
    'div',
    { className: 'head' },
    make('h2', { id: 'choice', textContent: _('Choose a model') }),
    close,
  );
  const dialog = make('dialog', { attributes: { 'aria-labelledby': 'choice' } }, head, tasks, body);
  state.root.append(button, dialog);
  button.onclick = () => open(state);
  close.onclick = () => dialog.close();
  dialog.addEventListener('click', event => {
    const { left, right, top, bottom } = dialog.getBoundingClientRect();
    const isBeside = event.clientX < left || event.clientX > right || event.clientY < top || event.clientY > bottom;
    if (event.target === dialog && isBeside) dialog.close();
  });
  const choose = task => {
    show(state, task);
    body.scrollTop = 0;
    // `show` has replaced the tabs, so the selected tab must get the focus again
    tasks.querySelector('[aria-selected="true"]').focus();
  };
  tasks.addEventListener('click', event => {
    const tab = event.target.closest('[role="tab"]');
    if (tab) choose(tab.dataset.task);
  });
  tasks.addEventListener('keydown', event => {
    const all = Array.from(tasks.children);
    const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = all[(all.indexOf(event.target) + step + all.length) % all.length];
    choose(next.dataset.task);
  });
  list.addEventListener('click', event => {
    const card = event.target.closest('a');
    if (!card || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    dialog.close();
    if (card.dataset.model === state.data.model) return;
    state.send({ type: 'model', model: card.dataset.model });
  });
  const sizes = new ResizeObserver(() => state.data && fit(state));
  sizes.observe(button);
  return { button, task, title, tasks, line, list, dialog, sizes, named: '' };
}

/**
 * Shows the whole title if it fits on two lines, else the model's short name. Called only for a new name or a new
 * width, because measuring the header forces a layout.
 */
function fit({ title: element, data: { title, short } }) {
  const ways = [title, short].flatMap(text =>
    (text.length > LONG ? [true] : [false, true]).map(isLong => [text, isLong]),
  );
  for (const [text, isLong] of ways) {
    setText(element, text);
    element.classList.toggle('long', isLong);
    if (element.scrollHeight <= element.clientHeight + 1 && element.scrollWidth <= element.clientWidth) return;
  }
}

function update(state, { model, task, title }) {
  current = model;
  setText(state.task, task);
  if (state.named !== title) fit(state);
  state.named = title;
  setAttribute(state.button, 'aria-label', _('Model: {task}, {title}. Choose another', { task, title }));
  // without a change, the dialog is not rebuilt, so that the focus stays
  if (state.dialog.open && state.made !== madeFrom(state)) show(state, state.shown);
}

/** Returns a key of everything that the dialog shows. */
const madeFrom = ({ data, dark }) =>
  JSON.stringify([currentLanguage(), dark, data.model, data.foreign, Boolean(known)]);

/** Returns the sentence about the model with this label, of the family of the page's model; empty if unknown. */
function lineOfLabel(label) {
  const tasks = known?.offered[currentLanguage()] ?? [];
  const families = tasks.map(({ groups }) => groups.flatMap(({ models }) => models));
  const family = families.find(models => models.some(({ name }) => name === current));
  const name = label.replace(/ ✕$/, ''); // a chip that removes its model
  return family?.find(model => model.label === name)?.line ?? '';
}
addOptionTips('compared', lineOfLabel);

/** Returns all tasks, with the visitor's own models as an additional task. */
function offered({ data }) {
  const tasks = known?.offered[currentLanguage()] ?? [];
  if (!data.foreign.length) return tasks;
  const line = _('Models that were opened on the page *Your model*.');
  const groups = [{ source: '', models: data.foreign }];
  return [...tasks, { task: OWN_MODELS, title: _('Your model'), line, groups }];
}

function open(state) {
  const { model } = state.data;
  const has = ({ groups }) => groups.some(({ models }) => models.some(({ name }) => name === model));
  const tasks = offered(state);
  state.dialog.showModal();
  show(state, (tasks.find(has) ?? tasks[0])?.task);
  state.list.querySelector('[aria-current]')?.focus();
}

function show(state, task) {
  const all = offered(state);
  const now = all.find(tab => tab.task === task);
  if (!now) return;
  state.shown = task;
  state.made = madeFrom(state);
  state.tasks.replaceChildren(
    ...all.map(({ task: key, title }) =>
      make('button', {
        type: 'button',
        ...(key === task && { id: 'task' }),
        textContent: title,
        dataset: { task: key },
        tabIndex: key === task ? 0 : -1,
        attributes: { role: 'tab', 'aria-selected': key === task, 'aria-controls': 'models' },
      }),
    ),
  );
  setStarredText(state.line, now.line);
  state.list.replaceChildren(
    ...now.groups.map(({ source, models }) =>
      make(
        'section',
        { style: { '--n': Math.min(3, models.length) } },
        ...(source ? [make('h3', { textContent: source })] : []),
        make('div', { className: 'cards' }, ...models.map(model => card(state, model))),
      ),
    ),
  );
}

function card(state, { name, title, line }) {
  const isCurrent = name === state.data.model;
  const element = make(
    'a',
    { href: stateQuery({ model: name }), dataset: { model: name } },
    picture(state, name),
    make('span', { className: 'words' }, make('b', { textContent: title }), make('span', { textContent: line })),
  );
  if (isCurrent) setAttribute(element, 'aria-current', 'true');
  return element;
}

/** Creates thumbnails of four heads of the model. */
function picture({ dark }, name) {
  const element = make('span', { className: 'picture', attributes: { 'aria-hidden': true } });
  const thumbnails = known?.pictures[name];
  if (!thumbnails) return element;
  const bytes = Uint8Array.from(atob(thumbnails.heads), letter => letter.charCodeAt(0));
  const { side } = thumbnails;
  const table = colourTable(dark, 'sequential');
  for (let head = 0; head < bytes.length / side ** 2; head += 1) {
    const canvas = make('canvas');
    paintMatrix(canvas, side, side, table, (i, j) => bytes[(head * side + i) * side + j]);
    element.append(canvas);
  }
  return element;
}

export const chooser = defineComponent({ create, update, destroy: ({ sizes }) => sizes.disconnect() });
