// What is taken away of a head's map, and of the grids: pictures, tables, and for all numbers what the server makes.

const PATIENCE = 30_000; // ms until the server must have answered

/** What the menu of a large map offers. */
lab.mapOffer = state => {
  const { data, most } = state;
  const view = state.view === 'mask' ? 'used' : state.view;
  const difference = view === 'difference';
  const head = lab.scopeName({ ...data, scope: 'head' }, data.kind_title);
  const map = {
    rows: data.rows,
    columns: data.columns,
    causal: data.causal,
    value: lab.valuesOf(data, view),
    most,
    difference,
    pruned: view === 'used' && data.gate === 0,
  };
  return {
    title: `${data.model} · ${head} · ${lab.stateName(data.constant, data.gate)} · ${lab._(lab.VIEWS[view])}`,
    about: [lab._('Rows are queries, columns are keys.')],
    models: [data.model],
    what: `layer-${data.layer + 1}-head-${data.head + 1}-${view}`,
    picture: () => lab.mapPicture(map),
    table: () => lab.mapTable({ ...map, name: view }),
  };
};

/** What the menu of the grids offers; the numbers of all heads are not here, and are asked of Python. */
lab.gridOffer = state => {
  const { grids, arrays, model, files } = state.data;
  return {
    title: lab._('{model}, all heads', { model }),
    about: [lab._('Layers down, heads across. C: constant; a bar below: its gate; crossed out: pruned.')],
    models: [model],
    what: 'all-heads',
    picture: () => lab.gridPicture(grids, kind => arrays[`tiles ${kind}`].data),
    others: Object.entries(files ? FILES : {}).map(([what, text]) => ({ text: lab._(text), act: () => fetch(state, what) })),
  };
};

const FILES = {
  csv: lab.N_('Weights of all heads, CSV'),
  json: lab.N_('All numbers, JSON'),
  npz: lab.N_('All numbers, NumPy (.npz)'),
};

/** Asks Python for the button that fetches a file, and presses it when it is there. */
async function fetch(state, what) {
  const number = state.send({ type: 'take', what });
  const until = performance.now() + PATIENCE;
  while (state.waiting().some(({ type }) => type === 'take') && performance.now() < until)
    await new Promise(done => setTimeout(done, 50));
  while (performance.now() < until) {
    const button = document.querySelector(`.st-key-take-${what}-${number} button`);
    if (button) return button.click();
    await new Promise(done => setTimeout(done, 50));
  }
}
