// One kind's heads as a table of tiles, layers down and heads across; several of them make the board.

const range = count => Array.from({ length: count }, (_, i) => i);

function header(role, text, name, kind, scope, layer, head) {
  const button = lab.make('button', {
    type: 'button',
    className: 'name',
    textContent: text,
    tabIndex: -1,
    attributes: { 'aria-label': name },
    dataset: { kind, scope, layer, head },
  });
  return lab.make('div', { className: 'header', attributes: { role } }, button);
}

function tile(kind, layer, head) {
  const canvas = lab.make('canvas');
  const badge = lab.make('span', { className: 'badge', textContent: 'C' });
  const role = lab.make('span');
  const under = lab.make('div', { className: 'role', attributes: { 'aria-hidden': true } }, role);
  const map = lab.make('div', { className: 'map', attributes: { 'aria-hidden': true } }, canvas, badge);
  const foot = lab.make('div', { className: 'foot', attributes: { 'aria-hidden': true } }, lab.make('i'));
  const cell = lab.make(
    'div',
    {
      className: 'tile',
      tabIndex: -1,
      dataset: { kind, scope: 'head', layer, head },
      attributes: { role: 'gridcell' },
    },
    map,
    foot,
    under,
  );
  return { cell, canvas, role };
}

/** {element, tiles: layers of {cell, canvas}, paint(data, tiles, dark, model), show(now)}. */
lab.headGrid = ({ kind, title, layers, heads }) => {
  const of = name => (title ? lab._('{name}, {kind}', { name, kind: title }) : name);
  const tiles = range(layers).map(layer => range(heads).map(head => tile(kind, layer, head)));
  const row = (...cells) => lab.make('div', { className: 'row', attributes: { role: 'row' } }, ...cells);
  const word = (text, className) =>
    lab.make('span', { className, textContent: text, attributes: { 'aria-hidden': true } });
  const table = lab.make(
    'div',
    {
      className: 'grid',
      attributes: {
        role: 'grid',
        'aria-describedby': 'hint',
        'aria-multiselectable': 'true',
      },
    },
    row(
      header('columnheader', lab._('All'), of(lab._('All heads')), kind, 'all', -1, -1),
      ...range(heads).map(head =>
        header('columnheader', head + 1, of(lab._('Head {head} of all layers', { head: head + 1 })), kind, 'column', -1, head),
      ),
    ),
    ...tiles.map((cells, layer) =>
      row(
        header('rowheader', layer + 1, of(lab._('All heads of layer {layer}', { layer: layer + 1 })), kind, 'row', layer, -1),
        ...cells.map(({ cell }) => cell),
      ),
    ),
  );
  const name = lab.make('h3', { className: 'kind', textContent: title ?? '' });
  const element = lab.make(
    'section',
    { className: 'part', style: { '--heads': heads } },
    ...(title ? [name] : []),
    lab.tip(word(lab._('Head'), 'across'), 'head'),
    lab.tip(word(lab._('Layer'), 'down'), 'layer'),
    table,
  );
  const buttons = Array.from(table.querySelectorAll('button'));
  let painted = null; // {shape, packed} of the pictures, as they are
  let shown = ''; // of `show`

  return {
    element,
    tiles,
    /** @param {string} model whose heads these are, for whoever hears and does not see where a grid stands */
    paint(data, packed, dark, model) {
      const whose = [model, title].filter(Boolean).join(', ');
      lab.set(table, 'aria-label', whose ? lab._('Heads: {title}', { title: whose }) : lab._('Heads'));
      const colours = lab.table(dark, 'sequential');
      const shape = JSON.stringify([data.rows, data.columns, data.causal, dark]);
      const old = painted?.shape === shape ? painted.packed : null;
      const size = packed.length / (layers * heads);
      tiles.flat().forEach(({ canvas }, index) => {
        if (old && lab.sameBytes(old, packed, index * size, size)) return;
        lab.paint(canvas, data.rows, data.columns, colours, lab.tileSteps(packed, index, data));
      });
      painted = { shape, packed };
      shown = '';
      element.classList.toggle('noted', Boolean(data.notes?.length));
      tiles.forEach((cells, layer) =>
        cells.forEach(({ role }, head) => {
          const [short, words] = data.notes?.[layer]?.[head] ?? ['', ''];
          lab.write(role, short);
          role.title = words;
        }),
      );
    },
    /** @param {boolean} all every tile is being computed anew, not only those that were touched */
    show({ heads: states, selection }, all) {
      const asked = JSON.stringify([states[kind], selection, all]);
      if (asked === shown) return;
      shown = asked;
      tiles.forEach((cells, layer) =>
        cells.forEach(({ cell, role }, head) => {
          const { constant, gate, touched } = states[kind][layer][head];
          const inside = lab.inScope(selection, kind, layer, head);
          const chosen = kind === selection.kind && layer === selection.layer && head === selection.head;
          const where = lab._('layer {layer}, head {head}', { layer: layer + 1, head: head + 1 });
          const parts = [...(title ? [title] : []), where, lab.stateName(constant, gate), role.title].filter(Boolean);
          lab.set(cell, 'aria-label', parts.join(', '));
          lab.set(cell, 'aria-selected', inside);
          const classes = { constant, gated: gate < 1, pruned: gate === 0, inside, chosen, awaited: all || touched };
          for (const [className, on] of Object.entries(classes)) cell.classList.toggle(className, on);
          cell.style.setProperty('--gate', gate);
        }),
      );
      for (const button of buttons) {
        const { scope, layer, head } = button.dataset;
        const whole =
          kind === selection.kind &&
          scope === selection.scope &&
          (scope !== 'row' || Number(layer) === selection.layer) &&
          (scope !== 'column' || Number(head) === selection.head);
        button.classList.toggle('whole', whole);
      }
    },
    /** What stands in a row and column, as lab.gridStep counts. */
    at: (row, column) => table.children[row].querySelectorAll('[data-scope]')[column],
    /** {row, column} of a tile or header. */
    placeOf: ({ dataset: { layer, head } }) => ({ row: Number(layer) + 1, column: Number(head) + 1 }),
  };
};
