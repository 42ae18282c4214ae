// The grid of all heads. What it shows is what Python sent plus the events that Python has not answered yet, so a click
// shows at once and a late answer never turns it back.

const HEIGHT = 400; // px that the tiles may take
const HINT = 'Keys: arrows · C constant · P prune · R live · + − gate';

/** Whether (layer, head) belongs to a selection. */
lab.inScope = (selection, layer, head) =>
  selection.scope === 'all' ||
  ((selection.scope === 'column' || layer === selection.layer) &&
    (selection.scope === 'row' || head === selection.head));

/** 'live', 'constant', 'gate 0.40', 'constant, gate 0.40' or 'pruned'. */
lab.stateName = (constant, gate) => {
  if (gate === 0) return 'pruned';
  const parts = [constant && 'constant', gate < 1 && `gate ${gate.toFixed(2)}`].filter(Boolean);
  return parts.join(', ') || 'live';
};

/** Python's values with the waiting events done to them. */
function present({ data, waiting }) {
  const now = {
    constant: data.constant.map(row => [...row]),
    gates: data.gates.map(row => [...row]),
    selection: data.selection,
    scale: data.scale,
  };
  for (const event of waiting()) {
    if (event.type === 'scale') now.scale = { policy: event.policy, base: event.base };
    if (event.type === 'select') now.selection = { layer: event.layer, head: event.head, scope: event.scope };
    if (event.type !== 'heads') continue;
    for (let layer = 0; layer < data.layers; layer += 1) {
      for (let head = 0; head < data.heads; head += 1) {
        if (!lab.inScope(event, layer, head)) continue;
        if (event.constant !== undefined) now.constant[layer][head] = event.constant;
        if (event.gate !== undefined) now.gates[layer][head] = event.gate;
      }
    }
  }
  return now;
}

function create(state) {
  const board = lab.make('div', { className: 'board' });
  const controls = lab.headControls(state, lab.make('p', { className: 'hint', id: 'hint', textContent: HINT }));
  state.root.append(board, controls.element);
  return { board, controls, shape: '' };
}

function update(state, data) {
  const shape = `${data.layers} ${data.heads}`;
  if (state.shape !== shape) build(state, data);
  if (state.fresh || state.shape !== shape) paint(state, data);
  state.shape = shape;
  state.now = present(state);
  show(state);
  state.controls.show(state.now, data);
}

function build(state, { layers, heads }) {
  const header = (role, text, name, scope, layer, head) => {
    const button = lab.make('button', {
      type: 'button',
      className: 'name',
      textContent: text,
      tabIndex: -1,
      attributes: { 'aria-label': name },
      dataset: { scope, layer, head },
    });
    return lab.make('div', { className: 'header', attributes: { role } }, button);
  };
  const range = count => Array.from({ length: count }, (_, i) => i);
  const row = (...cells) => lab.make('div', { className: 'row', attributes: { role: 'row' } }, ...cells);
  const word = (text, className) =>
    lab.make('span', { className, textContent: text, attributes: { 'aria-hidden': true } });
  state.tiles = range(layers).map(layer => range(heads).map(head => tile(layer, head)));
  const grid = lab.make(
    'div',
    {
      className: 'grid',
      style: { '--heads': heads },
      attributes: { role: 'grid', 'aria-label': 'Heads', 'aria-describedby': 'hint', 'aria-multiselectable': 'true' },
    },
    row(
      header('columnheader', 'All', 'All heads', 'all', -1, -1),
      ...range(heads).map(head =>
        header('columnheader', head + 1, `Head ${head + 1} of all layers`, 'column', -1, head),
      ),
    ),
    ...state.tiles.map((tiles, layer) =>
      row(
        header('rowheader', layer + 1, `All heads of layer ${layer + 1}`, 'row', layer, -1),
        ...tiles.map(t => t.cell),
      ),
    ),
  );
  grid.addEventListener('click', event => {
    const target = event.target.closest('[data-scope]');
    if (target) select(state, target);
  });
  grid.addEventListener('keydown', event => press(state, event));
  state.board.style.setProperty('--heads', heads);
  // Many layers with few heads each: the controls stay on the first screen.
  state.board.style.setProperty('--most', `${Math.max(40, Math.min(96, HEIGHT / layers))}px`);
  state.board.replaceChildren(word('Head', 'across'), word('Layer', 'down'), grid);
}

function tile(layer, head) {
  const canvas = lab.make('canvas');
  const badge = lab.make('span', { className: 'badge', textContent: 'C' });
  const map = lab.make('div', { className: 'map', attributes: { 'aria-hidden': true } }, canvas, badge);
  const foot = lab.make('div', { className: 'foot', attributes: { 'aria-hidden': true } }, lab.make('i'));
  const cell = lab.make(
    'div',
    {
      className: 'tile',
      tabIndex: -1,
      dataset: { scope: 'head', layer, head },
      attributes: { role: 'gridcell' },
    },
    map,
    foot,
  );
  return { cell, canvas };
}

function paint(state, { rows, columns, causal, arrays: { tiles } }) {
  const table = lab.table(state.dark, 'sequential');
  const place = lab.place(causal, columns);
  const size = causal ? (rows * (rows + 1)) / 2 : rows * columns;
  state.tiles.flat().forEach(({ canvas }, index) => {
    const map = tiles.data.subarray(index * size, (index + 1) * size);
    lab.paint(canvas, rows, columns, table, (i, j) => (causal && j > i ? undefined : map[place(i, j)]));
  });
}

function show({ tiles, now: { constant, gates, selection }, root, board }) {
  tiles.forEach((row, layer) =>
    row.forEach(({ cell }, head) => {
      const gate = gates[layer][head];
      const chosen = layer === selection.layer && head === selection.head;
      const inside = lab.inScope(selection, layer, head);
      lab.set(
        cell,
        'aria-label',
        `layer ${layer + 1}, head ${head + 1}, ${lab.stateName(constant[layer][head], gate)}`,
      );
      lab.set(cell, 'aria-selected', inside);
      cell.classList.toggle('constant', constant[layer][head]);
      cell.classList.toggle('gated', gate < 1);
      cell.classList.toggle('pruned', gate === 0);
      cell.classList.toggle('inside', inside);
      cell.classList.toggle('chosen', chosen);
      cell.style.setProperty('--gate', gate);
    }),
  );
  for (const button of board.querySelectorAll('button')) {
    const { scope, layer, head } = button.dataset;
    const whole =
      scope === selection.scope &&
      (scope !== 'row' || Number(layer) === selection.layer) &&
      (scope !== 'column' || Number(head) === selection.head);
    button.classList.toggle('whole', whole);
  }
  // One stop for the tab key: where the focus is, else the selected head.
  const focused = root.getRootNode().activeElement;
  const stop = focused?.closest?.('.grid') ? focused : tiles[selection.layer]?.[selection.head]?.cell;
  for (const other of board.querySelectorAll('[tabindex="0"]')) if (other !== stop) other.tabIndex = -1;
  if (stop) stop.tabIndex = 0;
}

/** Selects what a tile or a header stands for; a header keeps the other half of the selected head. */
function select(state, target) {
  const { scope } = target.dataset;
  const [layer, head] = [Number(target.dataset.layer), Number(target.dataset.head)];
  const old = state.now.selection;
  const next = { layer: layer < 0 ? old.layer : layer, head: head < 0 ? old.head : head, scope };
  target.focus({ preventScroll: true });
  if (next.layer !== old.layer || next.head !== old.head || next.scope !== old.scope)
    state.send({ type: 'select', ...next });
  state.refresh();
}

function press(state, event) {
  const target = event.target.closest('[data-scope]');
  if (!target || event.altKey) return;
  const places = Array.from(state.board.querySelectorAll('.row'), row =>
    Array.from(row.querySelectorAll('[data-scope]')),
  );
  const i = places.findIndex(row => row.includes(target));
  const j = places[i].indexOf(target);
  const [bottom, right, control] = [places.length - 1, places[0].length - 1, event.ctrlKey || event.metaKey];
  const moves = {
    ArrowUp: [i - 1, j],
    ArrowDown: [i + 1, j],
    ArrowLeft: [i, j - 1],
    ArrowRight: [i, j + 1],
    Home: [control ? 1 : i, 1],
    End: [control ? bottom : i, right],
  };
  const move = moves[event.key];
  if (move) {
    event.preventDefault();
    const next = places[move[0]]?.[move[1]];
    // Passing over a header does not select its row: Enter does.
    if (next?.dataset.scope === 'head') select(state, next);
    else next?.focus();
    state.refresh();
  } else if (target.dataset.scope === 'head' && !control) {
    const [layer, head] = [Number(target.dataset.layer), Number(target.dataset.head)];
    const gate = state.now.gates[layer][head];
    const step = change => ({ gate: Math.min(1, Math.max(0, Math.round(100 * (gate + change)) / 100)) });
    const changes = {
      c: () => ({ constant: !state.now.constant[layer][head] }),
      p: () => ({ gate: gate === 0 ? 1 : 0 }),
      r: () => ({ constant: false, gate: 1 }),
      '+': () => step(0.1),
      '=': () => step(0.1),
      '-': () => step(-0.1),
    };
    const changed = changes[event.key.toLowerCase()]?.();
    if (!changed) return;
    event.preventDefault();
    state.send({ type: 'heads', layer, head, scope: 'head', ...changed });
    state.refresh();
  }
}

lab.heads = lab.component({ create, update });
