// The selected head, large: title, views, map, readout and legend.

const LABELS = {
  used: lab.N_('Used'),
  live: lab.N_('Live'),
  constant: lab.N_('Constant'),
  difference: lab.N_('Difference'),
  mask: lab.N_('Mask F'),
};
const WEIGHTS = {
  used: lab.N_('Used weights, {name}: move with the arrow keys'),
  live: lab.N_('Live weights, {name}: move with the arrow keys'),
  constant: lab.N_('Constant weights, {name}: move with the arrow keys'),
  difference: lab.N_('Difference between constant and live weights, {name}: move with the arrow keys'),
};
// What one looks at, while nothing is pointed at.
const LOOKS = {
  used: lab.N_('A row shows how one query spreads its weight over the keys.'),
  live: lab.N_('What the head computes from this text, before anything was done to it.'),
  constant: lab.N_('The mean of this head over many texts, cut to the length of yours.'),
  difference: lab.N_('Where this head would look more if it were constant (orange), and where less (blue).'),
};

function create(state) {
  const title = lab.make('h2', { id: 'title' });
  const tabs = lab.make('div', {
    className: 'tabs',
    attributes: { role: 'tablist', 'aria-label': lab._('View of the head') },
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
  state.root.onkeydown = event => lab.headKey(event);
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
  return { title, tabs, matrix, first, second, legend, map, player, panel, numbers: panel, views: null };
}

function choose(state, tab) {
  if (!tab || tab.dataset.view === state.view) return;
  state.send({ type: 'view', view: tab.dataset.view });
  state.refresh();
}

function update(state, data) {
  data.columns ??= data.rows; // one row of tokens
  const views = lab.viewsOf(data);
  const wanted = state.waiting().at(-1)?.view ?? data.view;
  state.view = views.includes(wanted) ? wanted : 'used';
  state.most = lab.mostOf(data);
  const name = lab.scopeName({ ...data, scope: 'head' }, data.kind_title);
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
    lab.set(state.matrix.element, 'aria-label', lab._(WEIGHTS[state.view], { name }));
    state.values = lab.valuesOf(data, state.view);
    state.matrix.show(drawing(state, data));
    showLegend(state);
    tell(state, ...(state.matrix.at() ?? [null]));
  }
}

function drawing({ dark, view, values: value, most }, { rows, columns, causal, gate }) {
  const difference = view === 'difference';
  const step = difference ? lab.differenceStep : lab.weightStep;
  return {
    rows,
    columns,
    causal,
    pruned: view === 'used' && gate === 0,
    table: lab.table(dark, difference ? 'diverging' : 'sequential'),
    step: (i, j) => (causal && j > i ? undefined : step(value(i, j), most)),
  };
}

function showTabs(state, views) {
  if (String(state.views) !== String(views)) {
    state.views = views;
    state.tabs.replaceChildren(
      ...views.map(view =>
        lab.tip(
          lab.make('button', {
            type: 'button',
            textContent: lab._(LABELS[view]),
            dataset: { view },
            attributes: { role: 'tab', 'aria-controls': 'panel' },
          }),
          view,
        ),
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
  const ticks = lab.ticks(Number(state.most.toPrecision(2)), difference);
  state.legend.replaceChildren(
    difference ? lab.make('span', { textContent: lab._('← live is higher') }) : lab.term('weight', lab._('weight')),
    lab.make(
      'div',
      { className: 'scale' },
      lab.make('div', {
        className: 'bar',
        style: { background: lab.gradient(state.dark, difference ? 'diverging' : 'sequential') },
      }),
      ...ticks.map(({ at, label, fine }) =>
        lab.make('span', {
          className: fine ? 'tick fine' : 'tick',
          textContent: label,
          style: { left: `${100 * at}%` },
        }),
      ),
    ),
    difference
      ? lab.make('span', { textContent: lab._('constant is higher →') })
      : lab.term('square-root', lab._('square-root scale')),
  );
}

/** The two lines under the map. */
function tell(state, i, j) {
  if (i === null || i === undefined || !state.data) {
    lab.write(state.first, lab._('Point at a cell, or use the arrow keys, for its value.'));
    lab.write(state.second, lab._(LOOKS[state.view]));
    return;
  }
  const { data, view } = state;
  const value = lab.exact(state.values(i, j), view === 'difference');
  const strong = lab.make('strong', { textContent: value });
  state.first.replaceChildren(
    lab._('query {i} {query} → key {j} {key}: ', {
      i: i + 1,
      query: lab.quoted(data.rows[i]),
      j: j + 1,
      key: lab.quoted(data.columns[j]),
    }),
    strong,
  );
  lab.write(
    state.second,
    view === 'difference'
      ? lab._('constant {constant} − live {live}', {
          constant: lab.exact(lab.valuesOf(data, 'constant')(i, j)),
          live: lab.exact(lab.valuesOf(data, 'live')(i, j)),
        })
      : rowFacts(state.values, i, data.causal ? i + 1 : data.columns.length),
  );
}

function rowFacts(value, i, count) {
  const { sum, entropy, most } = lab.rowOf(value, i, count);
  if (Math.abs(sum - 1) > 0.005) return lab._('this row sums to {sum}', { sum: sum.toFixed(3) });
  return lab._('entropy of this row {entropy} of at most {most} nats', {
    entropy: lab.number(entropy, 2),
    most: most.toFixed(2),
  });
}

lab.head_map = lab.component({
  create,
  update,
  parts: ['numbers', 'selection'],
  destroy: state => {
    state.root.onkeydown = null;
    state.matrix.stop();
    state.player.stop();
  },
});
