// The Lab: composes the picture, the answer, the text field and the inspector.
//
// Parts draw `state.data` (the payload), `state.view` (the payload with the events applied that Python has not answered
// yet) and `state.overlay`, which a tool may set before it calls `state.repaint()`:
//   found: [{kind, layer, head}] heads that a search found; the others are faded. chosen: the same, framed.
//   feeds: [{kind, layer, head, value}] measured edges to the selected head. mask: true to show the forgotten words.

import { answers, wordText } from '../core/stage/sentences.js';
import { currentView } from '../core/stage/view.js';
import { selectedRow } from '../core/stage/weights.js';
import { _ } from '../core/texts.js';
import { defineComponent } from '../runtime/component.js';
import { make, makeButton, onResize, setAttribute, setText } from '../widgets/dom.js';
import { createAnswer } from './answer.js';
import { createField } from './field.js';
import { createInspector } from './inspector.js';
import { listenForKeys } from './keys.js';
import { createLead, createLegend } from './lead.js';
import { createLesson, guess } from './lesson.js';
import { createMinute } from './minute.js';
import { createPhoneBar } from './phone.js';
import { createPicture } from './picture.js';
import { createSteps } from './steps.js';

const WIDEST = 8; // layers from which the inspector stands beside the picture
const HEADER = 54; // px
const NARROW = 1040; // px of a window in which a translator's answer stands above its picture
const LAST = -1; // `look` of the word whose prediction is shown

function create(state) {
  Object.assign(state, { overlay: {}, hover: { head: null, word: null }, ...actions(state) });
  const lead = createLead(state);
  const legend = createLegend(state);
  const answer = createAnswer(state);
  const steps = createSteps(state);
  const field = createField(state);
  const phone = createPhoneBar(state);
  const lesson = createLesson(state);
  const head = make('div.head', ...lead.elements, legend.element);
  const board = make('div.board');
  const stage = make('div.stage', head, answer.element, board, steps.element, field.element);
  const inspector = createInspector(state);
  state.root.append(make('div.place.lab', lesson.element, stage, inspector.element, phone.element));
  const unfollow = onResize(state.root, state.remeasure);
  const minute = createMinute(state);
  const silence = listenForKeys(state);
  const parts = { lead, legend, answer, pictures: [], stage, board, steps, field, inspector, phone, lesson, minute };
  return { ...parts, unfollow, silence };
}

/** Returns the actions that the parts of the Lab share; each shows its effect before Python answers. */
const actions = state => ({
  /** Selects a head, a layer or all heads. */
  select(selection) {
    state.hover.head = null;
    const { kind, layer, head, scope } = selection;
    const old = state.view.selection;
    const same = ['kind', 'layer', 'head', 'scope'].every(part => old[part] === selection[part]);
    if (!same || state.view.thing !== scope) state.send({ type: 'select', kind, layer, head, scope });
    state.draws = true;
    state.refresh();
  },
  /** Changes the state of the selected heads: {constant?, gate?, drag?}. */
  change(change, address = state.view.selection) {
    const { kind, layer, head, scope } = address;
    state.still = Boolean(change.drag);
    state.send({ type: 'heads', kind, layer, head, scope, ...change });
    state.refresh();
  },
  /** Opens a tab of the inspector. */
  open(thing) {
    state.send({ type: 'thing', thing });
    state.refresh();
  },
  /** Opens a tool of a tab, after selecting a layer if one is given. */
  openTool(thing, key, { layer } = { layer: undefined }) {
    if (thing === 'layer' && layer !== undefined) state.select({ ...state.view.selection, layer, scope: 'row' });
    if (state.data.tools?.some(tool => tool.key === key)) state.send({ type: 'tool', name: key });
    state.refresh();
  },
  /** Makes a word look; a second press gives the look back to the word whose prediction is shown. */
  look(row, index, stays = false) {
    const { data, view } = state;
    state.hover.word = null;
    const kind = data.kinds.find(each => each.kind === view.selection.kind);
    if (kind.queries !== row) return;
    const prediction = data.predicts.indexOf(index);
    if (prediction >= 0 && data.predicts.length > 1 && index !== view.at)
      state.send({ type: 'prediction', index: prediction });
    const position = !stays && index === view.look && index !== view.at ? LAST : index;
    if (position !== view.look) state.send({ type: 'look', position });
    state.draws = true;
    state.refresh();
  },
  /** Shows or hides layers of the picture: {contributions?, guesses?}. */
  mark(marks) {
    state.send({ type: 'marks', ...state.view.marks, ...marks });
    state.refresh();
  },
  /** Selects the next layer, or shows the next prediction where the model writes several. */
  step(by) {
    const { data, view } = state;
    if (data.model.kind === 'pair' && data.predicts.length > 1) {
      const index = data.predicts.indexOf(view.at) + by;
      if (index >= 0 && index < data.predicts.length) state.send({ type: 'prediction', index });
      return state.refresh();
    }
    const { layers } = data.kinds.find(({ kind }) => kind === view.selection.kind);
    state.select({ ...view.selection, layer: Math.max(0, Math.min(layers - 1, view.selection.layer + by)) });
  },
  /** Shows a head or a word under the pointer, without an event to Python: {head?, word?}. */
  preview(hover) {
    const next = { ...state.hover, ...hover };
    if (JSON.stringify(next) === JSON.stringify(state.hover)) return;
    state.hover = next;
    state.repaint();
  },
  guess: choice => guess(state, choice),
  /** Draws everything again from what is known, without new data. */
  repaint() {
    if (state.data) paint(state, state.data);
  },
  /** Measures all positions again. */
  remeasure() {
    state.sized = true;
    state.repaint();
  },
});

const readBy = row => data => data.kinds.filter(({ queries }) => queries === row);

/** Creates the buttons that show the prediction before and after the shown one. */
function stepButtons(state) {
  const button = (text, name, by) => makeButton('button small', text, () => state.step(by), { 'aria-label': name });
  state.origin = make('small');
  return make(
    'div.steps.muted.nowrap',
    button('◀', _('Previous word'), -1),
    make('span', { textContent: _('next word') }),
    button('▶', _('Next word'), 1),
    state.origin,
  );
}

/** Returns the pictures of a model: one, or that of the encoder and that of the decoder. */
function picturesOf(state, { tokens }) {
  const count = tokens.target ? 2 : 1;
  if (state.pictures.length !== count) {
    const text = { row: 'text', kinds: readBy('text'), line: count === 1, hasMemory: count === 2 };
    const target = { row: 'target', kinds: readBy('target'), line: true, steps: stepButtons(state) };
    state.pictures = [text, target].slice(0, count).map(part => createPicture(state, part));
    state.board.replaceChildren(...state.pictures.map(({ element }) => element));
    state.board.classList.toggle('pair', count === 2);
  }
  return state.pictures;
}

/** Returns what is drawn of a selection: its row of weights from a query. */
function shownOf({ data, view, pictures }, selection, query) {
  const kind = data.kinds.find(each => each.kind === selection.kind);
  const { queries, keys } = kind;
  const last = data.tokens[queries].length - 1;
  const looking = Math.min(query < 0 ? view.at : query, last);
  const { row, used } = selectedRow({ ...data, look: data.look }, view.heads[kind.kind], selection, looking);
  const at = Math.min(view.at, data.tokens[atRow(data)].length - 1);
  return {
    selection,
    queries,
    keys,
    query: looking,
    row,
    used,
    at,
    atRow: atRow(data),
    wraps: pictures.some(({ wraps }) => wraps),
  };
}

/** Returns the row of tokens in which predictions are made. */
const atRow = ({ tokens, kinds }) =>
  tokens.target && kinds.some(({ queries }) => queries === 'target') ? 'target' : 'text';

function update(state, data) {
  if (data.written?.follows === false && !state.waiting().some(({ type }) => type === 'written'))
    state.send({ type: 'written' });
  state.view = currentView(data, state.waiting());
  state.still ||= state.waiting().some(({ drag }) => drag);
  state.lesson.show(data);
  paint(state, data);
  state.inspector.update(data);
  state.minute.show(data, state.view);
  state.still = false;
}

function paint(state, data) {
  const { view, hover, lead, legend, answer, field, phone, root } = state;
  root.classList.toggle('large-type', Boolean(data.large));
  setAttribute(state.board, 'data-watermark', data.model.untrained ? _('random weights') : '');
  const { place, needs = '', done, uses_text } = data.lesson ?? {};
  const layout = { 'in-lesson': place, 'step-done': done, 'uses-text': uses_text };
  layout['picture-beside'] = data.picture && !view.marks.guesses;
  for (const part of ['tool', 'buttons', 'picture'])
    layout[`needs-${part}`] = part === (place && state.unfolded === place ? 'tool' : needs);
  for (const [name, isOn] of Object.entries(layout)) {
    if (root.classList.contains(name) !== Boolean(isOn)) state.sized = true;
    root.classList.toggle(name, Boolean(isOn));
  }
  const layers = Math.max(...data.kinds.map(kind => kind.layers));
  const isTight = innerWidth <= NARROW || (data.lesson && data.large);
  root.classList.toggle('answer-above', Boolean(data.tokens.target && isTight));
  root.classList.toggle('wide-model', layers > WIDEST);
  const pictures = picturesOf(state, data);
  const changed = pictures.map(picture => picture.build(data));
  const selection = hover.head ?? view.selection;
  state.held = shownOf(state, view.selection, view.look);
  let shown = hover.head || hover.word ? shownOf(state, selection, wordLook(state, selection)) : state.held;
  lead.show(data, view, shown);
  answer.show(data, shown);
  state.steps.show(data);
  field.show(data, view);
  phone.show(data, view);
  const { before, after } = data.written ?? {};
  if (state.origin) setText(state.origin, (after ?? before) === before ? '' : _('written by the unmodified model'));
  const next = answers(data.answer);
  const isNext = next && data.model.kind === 'next';
  pictures.at(-1).showNext(isNext ? wordText(next.now.label) : '', isNext ? _('next word') : '');
  if (state.sized || state.fresh || changed.some(Boolean)) {
    if (changed.some(Boolean) || state.sized || state.wasLarge !== data.large) fit(state, data);
    state.wasLarge = data.large;
    for (const picture of pictures) picture.measure(data, answer.line);
    state.sized = false;
    if (shown.wraps !== pictures.some(({ wraps }) => wraps)) {
      state.held = shownOf(state, view.selection, view.look);
      shown = state.held;
      lead.show(data, view, shown);
      answer.show(data, shown);
    }
  }
  root.classList.toggle('text-wraps', Boolean(root.querySelector('.wraps')));
  for (const picture of pictures) picture.show(data, view, shown, state.draws);
  legend.show(data, view, pictures.at(-1));
  state.draws = false;
}

function wordLook({ hover, view, data }, selection) {
  const { queries } = data.kinds.find(({ kind }) => kind === selection.kind);
  return hover.word?.row === queries ? hover.word.index : view.look;
}

/** Chooses the type size of the words and the size of the tiles: the selected heads' buttons are in the window. */
function fit(state, data) {
  for (const picture of state.pictures) picture.fit(data, atRow(data));
  const parts = [state.stage, state.board, state.inspector.element, state.pictures.at(-1).words.element];
  const [stage, board, inspector, words] = parts.map(element => element.getBoundingClientRect());
  const zoom = state.root.currentCSSZoom ?? 1;
  state.root.style.setProperty('--words', `${(stage.bottom - words.top) / zoom}px`);
  const buttons = Number.parseFloat(getComputedStyle(state.root).getPropertyValue('--buttons')); // their lower edge
  const end = inspector.top < board.bottom ? stage.bottom : inspector.top + buttons * zoom;
  const height = (innerHeight - HEADER + stage.top - end + board.height) / zoom;
  const rooms = state.pictures.map(picture => picture.room(height));
  const [row, head] = [0, 1].map(side => Math.min(...rooms.map(room => room[side])));
  for (const picture of state.pictures) picture.size(row, head);
}

function destroy({ unfollow, silence, field, inspector, lead, lesson, minute }) {
  unfollow();
  silence();
  field.close();
  inspector.close();
  lead.close();
  lesson.close();
  minute.close();
}

export const lab = defineComponent({ create, update, parts: ['numbers', 'selection'], destroy });
