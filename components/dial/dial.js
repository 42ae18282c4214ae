// A slider over a few places, and what is so at the one that is chosen.

function create(state) {
  const input = lab.make('input', { type: 'range', min: 0, step: 1, id: 'dial', oninput: () => turn(state, true) });
  let held = false; // by a pointer: a change is the end of a drag then, and a step of a run of keys else
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
  const name = lab.make('label', { htmlFor: 'dial' });
  const ticks = lab.make('div', { className: 'ticks', attributes: { 'aria-hidden': true } });
  const slider = lab.make('div', { className: 'slider' }, name, input, ticks);
  const words = lab.make('span');
  const told = lab.make('p', { className: 'told', attributes: { role: 'status' } }, words);
  const head = lab.make('tr');
  const body = lab.make('tbody');
  const table = lab.make('table', {}, lab.make('thead', {}, head), body);
  state.root.append(slider, told, lab.make('div', { className: 'wide' }, table));
  return { input, name, ticks, slider, words, told, head, body, table, shown: '', placed: null };
}

const turn = (state, drag) => lab.goTo(state, state.data.places[state.input.value], drag);

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
    const ticks = lab.ticksOf(places);
    state.slider.classList.toggle('many', ticks.length < places.length);
    state.ticks.replaceChildren(...ticks.map(place => lab.make('span', { textContent: place })));
    const longest = told.reduce((most, one) => (one.length > most.length ? one : most), '');
    state.told.dataset.longest = longest.replaceAll('**', '');
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
  state.words.replaceChildren(...parts.map((textContent, i) => lab.make(i % 2 ? 'strong' : 'span', { textContent })));
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
