// The grids of all heads, one per attention block. The grids show Python's data with the events applied that Python has
// not handled yet. Therefore a click is visible immediately, and a late payload never reverts it.

import { gridStep, tileSide } from '../core/attention/layout.js';
import {
  addedHeads,
  boxedHeads,
  clampSelection,
  headsOf,
  inScope,
  keyChange,
  pendingState,
  selectedStates,
  toggledHead,
} from '../core/head_state.js';
import { letterOf } from '../core/keys.js';
import { _ } from '../core/texts.js';
import { defineComponent } from '../runtime/component.js';
import { mounted, requests } from '../runtime/stale.js';
import { make, setText, TEXT_INPUTS } from '../widgets/dom.js';
import { createDownloadMenu } from '../widgets/download_menu.js';
import { createHeadControls } from './controls.js';
import { gridOffer } from './download.js';
import { createHeadGrid } from './grid.js';
import { createUncovering } from './uncover.js';

const HEIGHT = { usual: 400, tall: 600 }; // largest height of all tiles in px, in a window of usual height
const OTHERS = 560; // px of a window above and below the tiles: header, text, titles of the grids, controls
const KEYS = ['c', 'p', 'r', '+', '=', '-'];

function create(state) {
  const board = make('div', { className: 'board' });
  const controls = createHeadControls(state, hint());
  const lead = make('p', { className: 'lead' });
  const find = make('select', {
    className: 'find',
    attributes: { 'aria-label': _('Find heads by what they look at') },
  });
  find.onchange = () => state.send({ type: 'find', find: find.value });
  const result = make('span', { className: 'result', attributes: { role: 'status' } });
  const search = make('div', { className: 'search' }, find, result);
  state.root.append(lead, board, controls.element);
  const take = createDownloadMenu(() => gridOffer(state), _('Download: all heads'));
  // the search and the downloads are below the actions on heads, because they are used less often
  controls.element.append(make('div', { className: 'tools' }, search, take.element));
  const onResize = () => fitTiles(state);
  window.addEventListener('resize', onResize);
  board.addEventListener('click', event => {
    const target = event.target.closest('[data-scope]');
    if (!target || state.boxed) return;
    const isHead = target.dataset.scope === 'head';
    if (isHead && (event.ctrlKey || event.metaKey)) selectSome(state, target, 'toggle');
    else if (isHead && event.shiftKey) selectSome(state, target, 'box');
    else select(state, target);
  });
  dragBox(state, board);
  board.addEventListener('keydown', event => walk(state, event));
  return {
    lead,
    search,
    find,
    result,
    board,
    controls,
    uncovering: createUncovering(controls.element),
    take,
    numbers: board,
    shape: '',
    onResize,
    marked: () => showGrids(state),
    act: (key, where) => act(state, key, where),
  };
}

const KEPT = 'attention-lab-keys-on-grid';
let keysEverywhere = true;
try {
  keysEverywhere = localStorage.getItem(KEPT) === null;
} catch {
  // the browser forbids storage; the choice is valid until the page is closed
}

function keepKeys(everywhere) {
  keysEverywhere = everywhere;
  try {
    if (everywhere) localStorage.removeItem(KEPT);
    else localStorage.setItem(KEPT, 'true');
  } catch {
    // the browser forbids storage
  }
}

/** Creates the line about keys, with the choice whether single letters work on the whole page (WCAG 2.1.4), because
 * speech input and mistyped keys can trigger them. */
function hint() {
  const keys = _('Keys: C constant · P prune · R live · + − gate · arrows in the grid');
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
  if (isNew) build(state, data);
  state.shape = shape;
  const look = { dark: state.dark, shading: data.shading, model: data.model };
  if (state.fresh || isNew)
    state.grids.forEach((grid, index) =>
      grid.paint(data.grids[index], data.arrays[`tiles ${data.grids[index].kind}`].data, look),
    );
  state.now = pendingState(data, state.waiting());
  state.now.selection = clampSelection(state.now.selection, data.grids);
  showGrids(state);
  state.controls.show(state.now, data);
  const lead = _('Each tile is one head. Rows are queries, columns are keys; a stronger colour is more attention.');
  setText(state.lead, data.led ? lead : '');
  showSearch(state, data.find);
  state.take.refresh();
  state.controls.element.hidden = Boolean(data.bare);
  state.root.classList.toggle('bare', Boolean(data.bare));
  if (state.fresh) for (const other of mounted) other.besideChanged?.();
}

/** Limits the height of all tiles, so that the controls stay on the first screen. */
function fitTiles({ board, data }) {
  const usual = Math.max(HEIGHT.usual, innerHeight / (board.currentCSSZoom ?? 1) - OTHERS);
  board.style.setProperty('--most', `${tileSide(data.grids, data.tall ? HEIGHT.tall : usual)}px`);
}

function build(state, { grids }) {
  const focused = addressOf(state.root.getRootNode().activeElement);
  const titled = grids.length > 1;
  state.grids = grids.map(grid => createHeadGrid({ ...grid, title: titled ? grid.title : null }));
  fitTiles(state);
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
  const { grids, now, root, board, waiting, data } = state;
  if (!now) return;
  // An event of another component, or an event for all heads, may change every tile.
  const own = waiting().findLast(({ type }) => type === 'heads')?.sequence ?? data.answered ?? 0;
  const all = requests.newest(['numbers']) > own;
  for (const grid of grids) grid.show(now, all);
  // The tab key stops once in the grids: at the focused tile, else at the selected head.
  const focused = root.getRootNode().activeElement;
  const { kind, layer, head } = now.selection;
  const chosen = grids[data.grids.findIndex(grid => grid.kind === kind)]?.tiles[layer]?.[head]?.cell;
  const stop = focused?.closest?.('.grid') ? focused : chosen;
  state.uncovering.show(chosen, [kind, layer, head].join());
  if (stop && stop === state.stop) return;
  for (const other of board.querySelectorAll('[tabindex="0"]')) if (other !== stop) other.tabIndex = -1;
  if (stop) stop.tabIndex = 0;
  state.stop = stop;
}

/** Returns the selection of a tile or a header; a header keeps the selected layer or head that it does not set. */
const addressed = (old, { kind, scope, layer, head }) => ({
  kind,
  layer: Number(layer) < 0 ? old.layer : Number(layer),
  head: Number(head) < 0 ? old.head : Number(head),
  scope,
});

/** Selects the heads of a tile or a header. */
function select(state, target) {
  const old = state.now.selection;
  const next = clampSelection(addressed(old, target.dataset), state.data.grids);
  target.focus({ preventScroll: true });
  if (Object.keys(next).some(part => next[part] !== old[part])) state.send({ type: 'select', ...next });
  state.refresh();
}

/** Toggles a head in the selection, or selects all heads in the box between the shown head and this head. */
function selectSome(state, target, how) {
  const { selection } = state.now;
  const [layer, head] = [Number(target.dataset.layer), Number(target.dataset.head)];
  const grid = state.data.grids.find(({ kind }) => kind === target.dataset.kind);
  if (selection.kind !== grid.kind) return select(state, target);
  const start = state.anchor ?? [selection.layer, selection.head];
  const next = how === 'box' ? boxedHeads(grid.kind, start, [layer, head]) : toggledHead(selection, grid, layer, head);
  target.focus({ preventScroll: true });
  if (String(headsOf(next, grid)) !== String(headsOf(selection, grid))) state.send({ type: 'select', ...next });
  state.refresh();
}

/** Selects the tiles in a box that the mouse drags; a press without movement is a click. */
function dragBox(state, board) {
  const tileAt = event => event.target.closest('[data-scope="head"]');
  let last = null;
  board.addEventListener('pointerdown', event => {
    const tile = event.pointerType === 'mouse' && !event.button && !event.shiftKey && !event.ctrlKey && tileAt(event);
    state.boxed = false;
    last = tile || null;
    state.anchor = tile ? [Number(tile.dataset.layer), Number(tile.dataset.head)] : null;
  });
  board.addEventListener('pointerover', event => {
    const tile = tileAt(event);
    if (!last || !tile || tile === last || !(event.buttons & 1)) return;
    if (!state.boxed) select(state, last);
    state.boxed = true;
    selectSome(state, tile, 'box');
  });
  board.addEventListener('pointerup', () => {
    [last, state.anchor] = [null, null];
    if (state.boxed) setTimeout(() => (state.boxed = false)); // after the click event of this press
  });
}

/** Shows the choice of a pattern to search for. */
function showSearch({ search, find, result, waiting }, shown) {
  search.hidden = !shown;
  if (!shown) return;
  const keys = String(shown.offered);
  if (find.dataset.keys !== keys) {
    find.dataset.keys = keys;
    find.replaceChildren(...shown.offered.map(([value, textContent]) => make('option', { value, textContent })));
  }
  find.value = waiting().findLast(({ type }) => type === 'find')?.find ?? shown.find;
  setText(result, shown.result);
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
  // A header is only focused; Enter selects its heads.
  if (element.dataset.scope === 'head') select(state, element);
  else element.focus();
  state.refresh();
}

/** Applies a key to the focused tile, else to the selected heads; returns false if the key changes nothing. */
function act(state, key, target) {
  const { now, data } = state;
  const place = target?.closest?.('[data-scope]'); // a tile, or the header of a row, of a column, or of all heads
  const own = place && addressed(now.selection, place.dataset);
  // a key press on one of several heads that were selected one by one changes all of these heads
  const isAmong = own?.scope === 'head' && addedHeads(now.selection.scope).length > 0;
  const address = own && !(isAmong && inScope(now.selection, own.kind, own.layer, own.head)) ? own : now.selection;
  const grid = data.grids.find(({ kind }) => kind === address.kind);
  const states = selectedStates({ ...now, selection: address });
  const change = keyChange(key, states, grid.can_constant);
  if (!change) return false;
  state.send({ type: 'heads', ...address, ...change });
  state.refresh();
  return true;
}

/**
 * Handles the keys C, P, R, + and - on the whole page except in text fields, menus and dialogs, or only on the grids.
 * This handler runs before Streamlit's own handlers, in which C clears caches and R reruns the app.
 */
export function onHeadKey(event) {
  const key = letterOf(event);
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

/** Returns the data of the grids beside a map: on a page with several maps, the n-th grids belong to the n-th map. */
export function gridsBeside(map) {
  const inOrder = Array.from(mounted).sort((a, b) => {
    const [one, other] = [a, b].map(({ root }) => root.getRootNode().host);
    return one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1;
  });
  const index = inOrder.filter(({ besideChanged }) => besideChanged).indexOf(map);
  return inOrder.filter(({ act }) => act)[index]?.data ?? null;
}

function destroy({ take, uncovering, onResize }) {
  window.removeEventListener('resize', onResize);
  take.close();
  uncovering.stop();
}

export const heads = defineComponent({ create, update, parts: ['numbers'], destroy });
