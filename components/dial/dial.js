// A slider over a few places, and what is so at the one that is chosen.

function create(state) {
  const input = lab.make('input', { type: 'range', min: 0, step: 1, id: 'dial', oninput: () => turn(state) });
  const name = lab.make('label', { htmlFor: 'dial' });
  const ticks = lab.make('div', { className: 'ticks', attributes: { 'aria-hidden': true } });
  const slider = lab.make('div', { className: 'slider' }, name, input, ticks);
  const told = lab.make('p', { className: 'told', attributes: { role: 'status' } });
  const head = lab.make('tr');
  const body = lab.make('tbody');
  const table = lab.make('table', {}, lab.make('thead', {}, head), body);
  state.root.append(slider, told, table);
  return { input, name, ticks, slider, told, head, body, table, shown: '', placed: null };
}

const turn = state => lab.goTo(state, state.data.places[state.input.value]);

function update(state, data) {
  const { label = '', term = '', places, columns, told = [], tables, strong = [] } = data;
  const shown = state.fresh ? JSON.stringify([label, places, columns, told, tables, strong]) : state.shown;
  if (state.shown !== shown) {
    Object.assign(state, { shown, placed: null });
    state.slider.hidden = !label;
    state.told.hidden = !told.length;
    state.table.hidden = !columns.length;
    state.name.replaceChildren(term ? lab.term(term, label) : label);
    state.input.max = places.length - 1;
    state.ticks.replaceChildren(...places.map(place => lab.make('span', { textContent: place })));
    state.head.replaceChildren(...columns.map(textContent => lab.make('th', { textContent, scope: 'col' })));
  }
  const place = lab.placeOf(data);
  if (state.placed === place) return;
  state.placed = place;
  show(state, Math.max(0, places.indexOf(place)));
}

function show(state, index) {
  const { places, told = [], tables, strong = [] } = state.data;
  state.input.value = index;
  lab.set(state.input, 'aria-valuetext', places[index] ?? '');
  const parts = (told[index] ?? '').split('**');
  state.told.replaceChildren(...parts.map((textContent, i) => lab.make(i % 2 ? 'strong' : 'span', { textContent })));
  const marked = new Set(strong.map(String));
  const cell = (textContent, row, column) =>
    lab.make(
      column ? 'td' : 'th',
      column ? {} : { scope: 'row' },
      lab.make(marked.has(`${row},${column}`) ? 'strong' : 'bdi', { textContent: lab.visible(textContent) }),
    );
  const rows = (tables[index] ?? []).map((cells, row) =>
    lab.make('tr', {}, ...cells.map((text, column) => cell(text, row, column))),
  );
  state.body.replaceChildren(...rows);
}

lab.dial = lab.component({ create, update });
