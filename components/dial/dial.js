// A slider over a few positions, and the text and table of the chosen position.

import { visibleText } from '../core/format.js';
import { sliderTicks } from '../core/pending.js';
import { defineComponent } from '../runtime/component.js';
import { groupPosition, moveGroup } from '../runtime/group.js';
import { make, setAttribute } from '../widgets/dom.js';
import { termElement } from '../widgets/tip.js';

function create(state) {
  const input = make('input', { type: 'range', min: 0, step: 1, id: 'dial', oninput: () => turn(state, true) });
  // true while a pointer holds the slider: a change event then ends a drag; otherwise the event is a key press
  let held = false;
  input.onpointerdown = () => {
    held = true;
  };
  input.onkeydown = () => {
    held = false;
  };
  input.onchange = () => {
    if (held) turn(state, false);
    held = false;
  };
  const name = make('label', { htmlFor: 'dial' });
  const ticks = make('div', { className: 'ticks', attributes: { 'aria-hidden': true } });
  const slider = make('div', { className: 'slider' }, name, input, ticks);
  const words = make('span');
  const output = make('p', { className: 'output', attributes: { role: 'status' } }, words);
  const head = make('tr');
  const body = make('tbody');
  const table = make('table', {}, make('thead', {}, head), body);
  state.root.append(slider, output, make('div', { className: 'wide' }, table));
  return { input, name, ticks, slider, words, output, head, body, table, shown: '', placed: null };
}

const turn = (state, drag) => moveGroup(state, state.data.positions[state.input.value], drag);

function update(state, data) {
  const { label = '', term = '', positions, columns, texts = [], tables, strong = [], small = false } = data;
  const shown = state.fresh ? JSON.stringify([label, positions, columns, texts, tables, strong]) : state.shown;
  if (state.shown !== shown) {
    Object.assign(state, { shown, placed: null });
    state.slider.hidden = !label;
    state.output.hidden = !texts.length;
    state.output.classList.toggle('small', small);
    state.table.hidden = !columns.length;
    state.name.replaceChildren(term ? termElement(term, label) : label);
    state.input.max = positions.length - 1;
    const ticks = sliderTicks(positions);
    state.slider.classList.toggle('many', ticks.length < positions.length);
    state.ticks.replaceChildren(...ticks.map(place => make('span', { textContent: place })));
    const longest = texts.reduce((most, one) => (one.length > most.length ? one : most), '');
    state.output.dataset.longest = longest.replaceAll('**', '');
    state.head.replaceChildren(...columns.map(textContent => make('th', { textContent, scope: 'col' })));
  }
  const place = groupPosition(data);
  if (state.placed === place) return;
  state.placed = place;
  show(state, Math.max(0, positions.indexOf(place)));
}

function show(state, index) {
  const { positions, texts = [], tables, strong = [] } = state.data;
  state.input.value = index;
  setAttribute(state.input, 'aria-valuetext', positions[index] ?? '');
  const parts = (texts[index] ?? '').split('**');
  state.words.replaceChildren(...parts.map((textContent, i) => make(i % 2 ? 'strong' : 'span', { textContent })));
  const marked = new Set(strong.map(String));
  const cell = (textContent, row, column) =>
    make(
      column ? 'td' : 'th',
      column ? {} : { scope: 'row' },
      make(marked.has(`${row},${column}`) ? 'strong' : 'bdi', { textContent: visibleText(textContent) }),
    );
  const rows = (tables[index] ?? []).map((cells, row) =>
    make('tr', {}, ...cells.map((text, column) => cell(text, row, column))),
  );
  state.body.replaceChildren(...rows);
}

export const dial = defineComponent({ create, update });
