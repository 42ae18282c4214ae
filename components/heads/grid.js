// The heads of one attention block as a table of tiles, layers down and heads across.

import { gateOpacity } from '../core/attention/pattern.js';
import { colourTable, scaleName, tileSteps } from '../core/attention/scales.js';
import { inScope, stateName } from '../core/head_state.js';
import { sameBytes } from '../core/payload.js';
import { _ } from '../core/texts.js';
import { paintMatrix } from '../widgets/canvas.js';
import { make, setAttribute, setText } from '../widgets/dom.js';
import { addTip } from '../widgets/tip.js';

const range = count => Array.from({ length: count }, (_, i) => i);

function header(role, text, name, kind, scope, layer, head) {
  const button = make('button', {
    type: 'button',
    className: 'name',
    textContent: text,
    tabIndex: -1,
    attributes: { 'aria-label': name },
    dataset: { kind, scope, layer, head },
  });
  return make('div', { className: 'header', attributes: { role } }, button);
}

function tile(kind, layer, head) {
  const canvas = make('canvas');
  const badge = make('span', { className: 'badge' });
  const role = make('span');
  const under = make('div', { className: 'role', attributes: { 'aria-hidden': true } }, role);
  const map = make('div', { className: 'map', attributes: { 'aria-hidden': true } }, canvas, badge);
  const foot = make('div', { className: 'foot', attributes: { 'aria-hidden': true } }, make('i'));
  const cell = make(
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
  return { cell, canvas, role, badge };
}

/** Creates {element, tiles: layers of {cell, canvas}, paint(data, tiles, dark, model), show(now, all), at, placeOf}. */
export function createHeadGrid({ kind, title, layers, heads }) {
  const of = name => (title ? _('{name}, {kind}', { name, kind: title }) : name);
  const tiles = range(layers).map(layer => range(heads).map(head => tile(kind, layer, head)));
  const row = (...cells) => make('div', { className: 'row', attributes: { role: 'row' } }, ...cells);
  const word = (text, className) => make('span', { className, textContent: text, attributes: { 'aria-hidden': true } });
  const table = make(
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
      header('columnheader', _('All'), of(_('All heads')), kind, 'all', -1, -1),
      ...range(heads).map(head =>
        header(
          'columnheader',
          head + 1,
          of(_('Head {head} of all layers', { head: head + 1 })),
          kind,
          'column',
          -1,
          head,
        ),
      ),
    ),
    ...tiles.map((cells, layer) =>
      row(
        header(
          'rowheader',
          layer + 1,
          of(_('All heads of layer {layer}', { layer: layer + 1 })),
          kind,
          'row',
          layer,
          -1,
        ),
        ...cells.map(({ cell }) => cell),
      ),
    ),
  );
  const name = make('h3', { className: 'kind', textContent: title ?? '' });
  const element = make(
    'section',
    { className: 'part', style: { '--heads': heads } },
    ...(title ? [name] : []),
    addTip(word(_('Head'), 'across'), 'head'),
    addTip(word(_('Layer'), 'down'), 'layer'),
    table,
  );
  const buttons = Array.from(table.querySelectorAll('button'));
  let painted = null; // {shape, packed} of the thumbnails that were painted last
  let shown = ''; // key of the state that `show` displayed last

  return {
    element,
    tiles,
    /** Draws the thumbnails; `model` names the grid for screen readers. */
    paint(data, packed, { dark, shading, model }) {
      const whose = [model, title].filter(Boolean).join(', ');
      setAttribute(table, 'aria-label', whose ? _('Heads: {title}', { title: whose }) : _('Heads'));
      const colours = colourTable(dark, scaleName(false, shading));
      const shape = JSON.stringify([data.rows, data.columns, data.causal, dark, shading]);
      const old = painted?.shape === shape ? painted.packed : null;
      const size = packed.length / (layers * heads);
      tiles.flat().forEach(({ canvas }, index) => {
        if (old && sameBytes(old, packed, index * size, size)) return;
        paintMatrix(canvas, data.rows, data.columns, colours, tileSteps(packed, index, data));
      });
      painted = { shape, packed };
      shown = '';
      element.classList.toggle('noted', Boolean(data.notes?.length));
      tiles.forEach((cells, layer) =>
        cells.forEach(({ role }, head) => {
          const [short, words] = data.notes?.[layer]?.[head] ?? ['', ''];
          setText(role, short);
          role.title = words;
        }),
      );
    },
    /**
     * Shows the state of each head.
     * @param {{heads: object, selection: import('../core/head_state.js').Selection}} now a result of pendingState
     * @param {boolean} all true if all tiles wait for new values, false if only the tiles of changed heads wait
     */
    show({ heads: states, selection }, all) {
      const key = JSON.stringify([states[kind], selection, all]);
      if (key === shown) return;
      shown = key;
      tiles.forEach((cells, layer) =>
        cells.forEach(({ cell, role, badge }, head) => {
          const { constant, gate, patched, touched } = states[kind][layer][head];
          const inside = inScope(selection, kind, layer, head);
          const chosen = kind === selection.kind && layer === selection.layer && head === selection.head;
          const where = _('layer {layer}, head {head}', { layer: layer + 1, head: head + 1 });
          const parts = [...(title ? [title] : []), where, stateName(constant, gate, patched), role.title].filter(
            Boolean,
          );
          setAttribute(cell, 'aria-label', parts.join(', '));
          setAttribute(cell, 'aria-selected', inside);
          const classes = { constant, patched, gated: gate < 1, pruned: gate === 0, inside, chosen };
          for (const [className, on] of Object.entries(classes)) cell.classList.toggle(className, on);
          cell.classList.toggle('awaited', all || touched);
          setText(badge, `${constant ? 'C' : ''}${patched ? 'P' : ''}`);
          cell.style.setProperty('--gate', gate);
          cell.style.setProperty('--opacity', gateOpacity(gate));
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
    /** Returns the tile or header at a row and column, counted as in gridStep. */
    at: (row, column) => table.children[row].querySelectorAll('[data-scope]')[column],
    /** Returns {row, column} of a tile or header. */
    placeOf: ({ dataset: { layer, head } }) => ({ row: Number(layer) + 1, column: Number(head) + 1 }),
  };
}
