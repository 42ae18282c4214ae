// Predictions by layer: rows are layers, columns are positions; the top tokens of a cell are shown below the table.

import { contrastColour, cssColour, weightStep } from '../core/attention/scales.js';
import { formatPercent, quoteToken } from '../core/format.js';
import { lensCell, lensPicture, lensRow, lensTable } from '../core/picture/answers.js';
import { _ } from '../core/texts.js';
import { defineComponent } from '../runtime/component.js';
import { make, setAttribute, setText, tokenElement } from '../widgets/dom.js';
import { createDownloadMenu } from '../widgets/download_menu.js';
import { termElement } from '../widgets/tip.js';

function create(state) {
  const message = make('p', { className: 'about', attributes: { role: 'status' } });
  const table = make('table', { attributes: { role: 'grid', translate: 'no' } });
  const wide = make('div', { className: 'wide' }, table);
  const readout = make('div', { className: 'readout', attributes: { role: 'status' } });
  const take = createDownloadMenu(() => offer(state), _('Download: predictions by layer'));
  const title = make('h3', {}, termElement('logit-lens', _('Predictions by layer')));
  const about = make('p', {
    className: 'about',
    textContent: _(
      'What the model would predict if it stopped after each layer (rows), at each position (columns). Early layers are only approximate, because the output step was trained on the last layer. A frame marks the first layer that has the final answer on top.',
    ),
  });
  state.root.append(make('div', { className: 'head' }, title, take.element), about, message, wide, readout);
  table.addEventListener('pointerover', event => pointAt(state, event.target.closest('td')));
  table.addEventListener('focusin', event => pointAt(state, event.target.closest('td')));
  table.addEventListener('keydown', event => move(state, event));
  return { message, table, wide, readout, cells: [], words: [], layout: '', place: null };
}

function update(state, data) {
  const { shape, tokens, first } = data;
  setText(state.message, data.message);
  state.message.hidden = !data.message;
  state.wide.hidden = state.readout.hidden = Boolean(data.message);
  if (data.message || !state.fresh) return;
  const [layers, positions] = shape;
  const layout = JSON.stringify([shape, tokens]);
  const isNew = state.layout !== layout;
  if (isNew) build(state, layers, positions, tokens);
  state.layout = layout;
  setAttribute(state.table, 'aria-label', _('Predictions by layer'));
  const [ids, probabilities] = numbersOf(data);
  for (let layer = 0; layer < layers; layer += 1)
    for (let place = 0; place < positions; place += 1) {
      const cell = state.cells[layer][place];
      const [{ word, probability }] = lensCell(data, ids, probabilities, layer, place);
      const part = weightStep(probability) / 255;
      // a new word lays the table out again, so only changed words are replaced
      if (state.words[layer][place] !== word) cell.replaceChildren(tokenElement(word));
      state.words[layer][place] = word;
      cell.style.background = cssColour(state.dark, 'sequential', part);
      cell.style.color = contrastColour(state.dark, 'sequential', part);
      cell.classList.toggle('first', first[place] === layer);
      cell.classList.toggle('changed', topChanged(data, layer, place));
      const where = `${quoteToken(tokens[place])}, ${lensRow(layer)}`;
      setAttribute(cell, 'aria-label', `${where}: ${quoteToken(word)} ${formatPercent(probability)}`);
    }
  show(state, ...(state.place ?? [layers - 1, data.at]));
  // a long text begins at the column that is described below the table
  if (isNew) state.wide.scrollLeft = state.cells[layers - 1][data.at].offsetLeft - state.wide.clientWidth / 2;
}

/** Returns ids and probabilities under the plan, or of the unmodified model. */
const numbersOf = ({ arrays }, which = arrays.after_ids ? 'after' : 'before') =>
  ['ids', 'probabilities'].map(name => arrays[`${which}_${name}`].data);

function topTokens(data, which, layer, place) {
  const [ids, probabilities] = numbersOf(data, which);
  return lensCell(data, ids, probabilities, layer, place);
}

function topChanged(data, layer, place) {
  if (!data.arrays.after_ids) return false;
  const [old, now] = ['before', 'after'].map(which => topTokens(data, which, layer, place)[0].word);
  return old !== now;
}

function build(state, layers, positions, tokens) {
  const head = make('tr', {}, make('th'), ...tokens.map(token => make('th', { scope: 'col' }, tokenElement(token))));
  state.cells = Array.from({ length: layers }, () =>
    Array.from({ length: positions }, () => make('td', { tabIndex: -1, attributes: { role: 'gridcell' } })),
  );
  state.words = state.cells.map(cells => cells.map(() => null));
  const rows = state.cells.map((cells, layer) =>
    make('tr', {}, make('th', { scope: 'row', textContent: lensRow(layer) }), ...cells),
  );
  state.table.replaceChildren(head, ...rows);
  state.place = null;
}

function find(state, cell) {
  const layer = state.cells.findIndex(cells => cells.includes(cell));
  return layer < 0 ? null : [layer, state.cells[layer].indexOf(cell)];
}

function pointAt(state, cell) {
  const place = cell && find(state, cell);
  if (place) show(state, ...place);
}

const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

function move(state, event) {
  const [down, right] = STEPS[event.key] ?? [];
  const place = find(state, event.target.closest('td'));
  if (down === undefined || !place) return;
  event.preventDefault();
  state.cells[place[0] + down]?.[place[1] + right]?.focus();
}

/** Shows the top tokens of a cell, before and after the plan. */
function show(state, layer, place) {
  const { data, cells } = state;
  if (!cells[layer]?.[place]) return show(state, cells.length - 1, data.at);
  const [lastLayer, lastPlace] = state.place ?? [layer, place];
  cells[lastLayer][lastPlace].tabIndex = -1;
  cells[lastLayer][lastPlace].classList.remove('pointed');
  state.place = [layer, place];
  cells[layer][place].tabIndex = 0;
  cells[layer][place].classList.add('pointed');
  const list = which =>
    make(
      'ol',
      {},
      ...topTokens(data, which, layer, place).map(({ word, probability }) =>
        make('li', {}, tokenElement(word), ' ', make('span', { textContent: formatPercent(probability) })),
      ),
    );
  const after = data.arrays.after_ids;
  state.readout.replaceChildren(
    make('b', {}, tokenElement(data.tokens[place]), ` · ${lensRow(layer)}`),
    make(
      'div',
      { className: 'lists' },
      make('div', {}, ...(after ? [_('unmodified')] : []), list('before')),
      ...(after ? [make('div', {}, _('with your change'), list('after'))] : []),
    ),
    make('p', {
      textContent: _('First layer with the final answer on top: {layer}.', { layer: lensRow(data.first[place]) }),
    }),
  );
}

function offer({ data }) {
  const [ids, probabilities] = numbersOf(data);
  return {
    title: _('{model}, predictions by layer', { model: data.model }),
    about: [_('Rows are layers, columns are positions; the colour is the probability of the token.')],
    models: [data.model],
    what: 'predictions-by-layer',
    picture: () => lensPicture(data, ids, probabilities),
    table: () => lensTable(data, ids, probabilities),
  };
}

export const lens = defineComponent({ create, update });
