// The selected head, large: title, views, map, readout and legend.

const LABELS = { used: 'Used', live: 'Live', constant: 'Constant', difference: 'Difference', mask: 'Mask F' };
const REST = [
  'Point at a cell, or use the arrow keys, for its value.',
  'A row shows how one query spreads its weight over the keys.',
];

const available = data =>
  Object.keys(LABELS).filter(
    view =>
      ({
        used: true,
        live: true,
        constant: data.arrays.constant,
        difference: data.arrays.constant,
        mask: data.arrays.selected,
      })[view],
  );

function create(state) {
  const title = lab.make('h2', { id: 'title' });
  const tabs = lab.make('div', {
    className: 'tabs',
    attributes: { role: 'tablist', 'aria-label': 'View of the head' },
  });
  const [first, second] = [lab.make('div'), lab.make('div', { className: 'second' })];
  const readout = lab.make('div', { className: 'readout', attributes: { 'aria-live': 'polite' } }, first, second);
  const matrix = lab.matrix((i, j) => tell(state, i, j));
  const legend = lab.make('div', { className: 'legend' });
  const map = lab.make('div', { className: 'map' }, matrix.element, readout, legend);
  const player = lab.forgetting();
  const panel = lab.make(
    'div',
    { id: 'panel', className: 'panel', attributes: { role: 'tabpanel' } },
    map,
    player.element,
  );
  state.root.append(lab.make('div', { className: 'head' }, title, tabs), panel);
  tabs.addEventListener('click', event => choose(state, event.target.closest('[role="tab"]')));
  tabs.addEventListener('keydown', event => {
    const list = Array.from(tabs.children);
    const index = list.indexOf(event.target);
    const next = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: list.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    const tab = list[(next + list.length) % list.length];
    tab.focus();
    choose(state, tab);
  });
  return { title, tabs, matrix, first, second, legend, map, player, panel };
}

function choose(state, tab) {
  if (!tab || tab.dataset.view === state.view) return;
  state.send({ type: 'view', view: tab.dataset.view });
  state.refresh();
}

function update(state, data) {
  const views = available(data);
  const wanted = state.waiting().at(-1)?.view ?? data.view;
  state.view = views.includes(wanted) ? wanted : 'used';
  state.most = Math.max(data.distribution ? 1 : 1e-9, ...['live', 'constant', 'used'].map(name => largest(data.arrays[name]?.data ?? [])));
  const name = `Layer ${data.layer + 1}, head ${data.head + 1}`;
  lab.write(state.title, `${name} · ${lab.stateName(data.constant, data.gate).replace(', ', ' · ')}`);
  showTabs(state, views);
  const mask = state.view === 'mask';
  state.map.hidden = mask;
  state.player.element.hidden = !mask;
  state.panel.classList.toggle('roomy', Boolean(data.arrays.selected));
  if (mask) {
    state.player.show(data, state.dark);
  } else {
    state.player.pause();
    const what =
      state.view === 'difference' ? 'Difference between constant and live weights' : `${LABELS[state.view]} weights`;
    lab.set(state.matrix.element, 'aria-label', `${what}, ${name.toLowerCase()}: move with the arrow keys`);
    state.values = values(data, state.view);
    state.matrix.show(drawing(state, data));
    showLegend(state);
    tell(state, ...(state.matrix.at() ?? [null]));
  }
}

const largest = numbers => numbers.reduce((most, value) => Math.max(most, value), 0);

/** (i, j) -> the number that a view shows there. */
function values({ arrays, used, causal, rows }, view) {
  const place = lab.place(causal, rows.length);
  if (view === 'difference') return (i, j) => arrays.constant.data[place(i, j)] - arrays.live.data[place(i, j)];
  const { data } = arrays[view === 'used' ? used : view];
  return (i, j) => data[place(i, j)];
}

function drawing({ dark, view, values: value, most }, { rows, causal }) {
  const difference = view === 'difference';
  const step = difference ? lab.differenceStep : lab.weightStep;
  return {
    rows,
    columns: rows,
    causal,
    table: lab.table(dark, difference ? 'diverging' : 'sequential'),
    step: (i, j) => (causal && j > i ? undefined : step(value(i, j), most)),
  };
}

function showTabs(state, views) {
  if (String(state.views) !== String(views)) {
    state.views = views;
    state.tabs.replaceChildren(
      ...views.map(view =>
        lab.make('button', {
          type: 'button',
          textContent: LABELS[view],
          dataset: { view },
          attributes: { role: 'tab', 'aria-controls': 'panel' },
        }),
      ),
    );
  }
  for (const tab of state.tabs.children) {
    lab.set(tab, 'aria-selected', tab.dataset.view === state.view);
    tab.tabIndex = tab.dataset.view === state.view ? 0 : -1;
  }
}

function showLegend(state) {
  const difference = state.view === 'difference';
  const most = Number(state.most.toPrecision(2));
  // Where the largest weight is not 1, numbers are long: fewer of them fit.
  const weights = most === 1 ? [0, 0.01, 0.1, 0.25, 0.5, 1] : [0, 0.1, 0.25, 0.5, 1];
  const differences = most >= 0.1 ? [-1, -0.5, -0.1, 0, 0.1, 0.5, 1] : [-1, -0.25, 0, 0.25, 1];
  const ticks = difference ? differences : weights;
  const round = value => String(Number(Math.abs(value).toPrecision(2)));
  const sign = tick => (difference && tick !== 0 ? (tick < 0 ? '−' : '+') : '');
  const label = tick => sign(tick) + round(tick * most);
  const place = tick => (difference ? 50 + 50 * Math.sign(tick) * Math.sqrt(Math.abs(tick)) : 100 * Math.sqrt(tick));
  state.legend.replaceChildren(
    lab.make('span', { textContent: difference ? '← live is higher' : 'weight' }),
    lab.make(
      'div',
      { className: 'scale' },
      lab.make('div', {
        className: 'bar',
        style: { background: lab.gradient(state.dark, difference ? 'diverging' : 'sequential') },
      }),
      ...ticks.map(tick =>
        lab.make('span', {
          className: tick === 0.01 || (Math.abs(tick) === 0.25 && most !== 1) ? 'tick fine' : 'tick',
          textContent: label(tick),
          style: { left: `${place(tick)}%` },
        }),
      ),
    ),
    lab.make('span', { textContent: difference ? 'constant is higher →' : 'square-root scale' }),
  );
}

/** The two lines under the map. */
function tell(state, i, j) {
  if (i === null || i === undefined || !state.data) {
    lab.write(state.first, REST[0]);
    lab.write(state.second, REST[1]);
    return;
  }
  const { data, view } = state;
  const keys = data.rows;
  const value = lab.exact(state.values(i, j), view === 'difference');
  const strong = lab.make('strong', { textContent: value });
  state.first.replaceChildren(
    `query ${i + 1} ${lab.quoted(data.rows[i])} → key ${j + 1} ${lab.quoted(keys[j])}: `,
    strong,
  );
  lab.write(
    state.second,
    view === 'difference'
      ? `constant ${lab.exact(values(data, 'constant')(i, j))} − live ${lab.exact(values(data, 'live')(i, j))}`
      : rowFacts(state.values, i, data.causal ? i + 1 : keys.length),
  );
}

function rowFacts(value, i, count) {
  let [sum, entropy] = [0, 0];
  for (let j = 0; j < count; j += 1) {
    const weight = value(i, j);
    sum += weight;
    if (weight > 0) entropy -= weight * Math.log(weight);
  }
  if (Math.abs(sum - 1) > 0.005) return `this row sums to ${sum.toFixed(3)}`;
  return `entropy of this row ${lab.number(entropy, 2)} of at most ${Math.log(count).toFixed(2)} nats`;
}

lab.head_map = lab.component({
  create,
  update,
  destroy: state => {
    state.matrix.stop();
    state.player.stop();
  },
});
