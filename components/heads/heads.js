// The grids of all heads, one a kind. What they show is what Python sent plus the events that Python has not answered
// yet, so a click shows at once and a late answer never turns it back.

import { gridStep, tileSide } from '../core/attention/layout.js';
import { clampSelection, keyChange, pendingState, selectedStates } from '../core/head_state.js';
import { _ } from '../core/texts.js';
import { defineComponent } from '../runtime/component.js';
import { mounted, questions } from '../runtime/stale.js';
import { make, setText, TEXT_INPUTS } from '../widgets/dom.js';
import { createDownloadMenu } from '../widgets/download_menu.js';
import { createHeadControls } from './controls.js';
import { gridOffer } from './download.js';
import { createHeadGrid } from './grid.js';

const HEIGHT = 400; // px that the tiles may take
const KEYS = ['c', 'p', 'r', '+', '=', '-'];

function create(state) {
  const board = make('div', { className: 'board' });
  const controls = createHeadControls(state, hint());
  const lead = make('p', { className: 'lead' });
  state.root.append(lead, board, controls.element);
  const take = createDownloadMenu(() => gridOffer(state), _('Download: all heads'));
  controls.element.append(take.element);
  board.addEventListener('click', event => {
    const target = event.target.closest('[data-scope]');
    if (target) select(state, target);
  });
  board.addEventListener('keydown', event => walk(state, event));
  return {
    lead,
    board,
    controls,
    take,
    numbers: board,
    shape: '',
    marked: () => showGrids(state),
    act: (key, where) => act(state, key, where),
  };
}

const KEPT = 'attention-lab-keys-on-grid';
let keysEverywhere = true;
try {
  keysEverywhere = localStorage.getItem(KEPT) === null;
} catch {
  // nothing is kept: it holds for as long as the page does
}

function keepKeys(everywhere) {
  keysEverywhere = everywhere;
  try {
    if (everywhere) localStorage.removeItem(KEPT);
    else localStorage.setItem(KEPT, 'true');
  } catch {
    // as above
  }
}

/** What keys do, and whether letters do it wherever the focus is: those who speak to their machine, or miss keys, may
 * not want that (WCAG 2.1.4). */
function hint() {
  const keys = _('Keys: arrows · C constant · P prune · R live · + − gate');
  const box = make('input', { type: 'checkbox', checked: keysEverywhere });
  box.onchange = () => keepKeys(box.checked);
  return make(
    'div',
    { className: 'hint' },
    make('span', { id: 'hint', textContent: keys }),
    make('label', {}, box, _('on the whole page')),
  );
}

function update(state, data) {
  const shape = JSON.stringify(data.grids.map(({ kind, title, layers, heads }) => [kind, title, layers, heads]));
  const isNew = state.shape !== shape;
  if (isNew) build(state, data.grids);
  state.shape = shape;
  if (state.fresh || isNew)
    state.grids.forEach((grid, index) =>
      grid.paint(data.grids[index], data.arrays[`tiles ${data.grids[index].kind}`].data, state.dark, data.model),
    );
  state.now = pendingState(data, state.waiting());
  state.now.selection = clampSelection(state.now.selection, data.grids);
  showGrids(state);
  state.controls.show(state.now, data);
  const lead = _('Each tile is one head. Rows are queries, columns are keys; a stronger colour is more attention.');
  setText(state.lead, data.led ? lead : '');
  state.controls.element.hidden = Boolean(data.bare);
  state.root.classList.toggle('bare', Boolean(data.bare));
  if (state.fresh) for (const other of mounted) other.besideChanged?.();
}

function build(state, grids) {
  const focused = addressOf(state.root.getRootNode().activeElement);
  const titled = grids.length > 1;
  state.grids = grids.map(grid => createHeadGrid({ ...grid, title: titled ? grid.title : null }));
  // Many layers with few heads each: the controls stay on the first screen.
  state.board.style.setProperty('--most', `${tileSide(grids, HEIGHT)}px`);
  state.board.replaceChildren(...state.grids.map(({ element }) => element));
  if (focused) targetOf(state, focused)?.focus({ preventScroll: true });
}

const addressOf = element => (element?.dataset?.scope ? { ...element.dataset } : null);
const targetOf = ({ board }, { kind, scope, layer, head }) =>
  Array.from(board.querySelectorAll('[data-scope]')).find(
    ({ dataset }) =>
      dataset.kind === kind && dataset.scope === scope && dataset.layer === layer && dataset.head === head,
  );

function showGrids(state) {
  const { grids, now, root, board, awaitsText, waiting, data } = state;
  if (!now) return;
  // Asked elsewhere (undo, another text) or of all heads (the scale): every number may change.
  const own = waiting().findLast(({ type }) => type === 'heads')?.sequence ?? data.answered ?? 0;
  const all = awaitsText || questions.newest(['numbers']) > own;
  for (const grid of grids) grid.show(now, all);
  // One stop for the tab key: where the focus is, else the selected head.
  const focused = root.getRootNode().activeElement;
  const { kind, layer, head } = now.selection;
  const chosen = grids[data.grids.findIndex(grid => grid.kind === kind)]?.tiles[layer]?.[head]?.cell;
  const stop = focused?.closest?.('.grid') ? focused : chosen;
  if (stop && stop === state.stop) return;
  for (const other of board.querySelectorAll('[tabindex="0"]')) if (other !== stop) other.tabIndex = -1;
  if (stop) stop.tabIndex = 0;
  state.stop = stop;
}

/** What a tile or a header stands for; a header keeps the other half of the selected head. */
const addressed = (old, { kind, scope, layer, head }) => ({
  kind,
  layer: Number(layer) < 0 ? old.layer : Number(layer),
  head: Number(head) < 0 ? old.head : Number(head),
  scope,
});

/** Selects what a tile or a header stands for. */
function select(state, target) {
  const old = state.now.selection;
  const next = clampSelection(addressed(old, target.dataset), state.data.grids);
  target.focus({ preventScroll: true });
  if (Object.keys(next).some(part => next[part] !== old[part])) state.send({ type: 'select', ...next });
  state.refresh();
}

/** Moves the focus with the arrow keys. */
function walk(state, event) {
  const target = event.target.closest('[data-scope]');
  if (!target || event.altKey) return;
  const { grids } = state.data;
  const grid = grids.findIndex(({ kind }) => kind === target.dataset.kind);
  const from = { grid, ...state.grids[grid].placeOf(target) };
  if (!/^(Arrow|Home$|End$)/.test(event.key)) return;
  event.preventDefault();
  const next = gridStep(grids, from, event.key, event.ctrlKey || event.metaKey);
  if (!next) return;
  const element = state.grids[next.grid].at(next.row, next.column);
  // Passing over a header does not select its row: Enter does.
  if (element.dataset.scope === 'head') select(state, element);
  else element.focus();
  state.refresh();
}

/** Does what a key says to the tile that has the focus, else to what is selected; false if it says nothing. */
function act(state, key, target) {
  const { now, data } = state;
  const place = target?.closest?.('[data-scope]'); // a tile, or what stands for a row, a column or all
  const address = place ? addressed(now.selection, place.dataset) : now.selection;
  const grid = data.grids.find(({ kind }) => kind === address.kind);
  const states = selectedStates({ ...now, selection: address });
  const change = keyChange(key, states, grid.can_constant);
  if (!change) return false;
  state.send({ type: 'heads', ...address, ...change });
  state.refresh();
  return true;
}

/**
 * The keys C, P, R, + and -, wherever the focus is but where letters are typed, and in dialogs; or on the grids alone.
 * Heard before the page is: Streamlit's own C and R would clear its caches, or run everything again and take the focus
 * away.
 */
export function onHeadKey(event) {
  const key = event.key?.toLowerCase();
  if (!KEYS.includes(key) || event.altKey || event.ctrlKey || event.metaKey || event.isComposing) return;
  const path = event.composedPath();
  if (
    path.some(
      element =>
        element instanceof HTMLElement && element.matches(`${TEXT_INPUTS}, dialog, [role="dialog"], [role="menu"]`),
    )
  )
    return;
  const grids = Array.from(mounted).filter(({ act, now, root }) => act && now && root.isConnected);
  const own = grids.find(({ root }) => path.includes(root));
  const state = own ?? grids[0];
  if (!state) return;
  event.preventDefault();
  event.stopPropagation();
  if (!own && !keysEverywhere) return;
  if (!event.repeat || key === '+' || key === '=' || key === '-') state.act(key, path[0]);
}

/** What the grids beside a map were sent: of several maps on a page, the n-th map's are those of the n-th component. */
export function gridsBeside(map) {
  const inOrder = Array.from(mounted).sort((a, b) => {
    const [one, other] = [a, b].map(({ root }) => root.getRootNode().host);
    return one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1;
  });
  const index = inOrder.filter(({ besideChanged }) => besideChanged).indexOf(map);
  return inOrder.filter(({ act }) => act)[index]?.data ?? null;
}

export const heads = defineComponent({ create, update, parts: ['numbers'], destroy: ({ take }) => take.close() });
