// The picture of the model at work: rows of tiles above the words, with the strings of the selected head.

import { boxedHeads, clampSelection, toggledHead } from '../core/head_state.js';
import { _ } from '../core/texts.js';
import { make } from '../widgets/dom.js';
import { createStrings } from './strings.js';
import { createLayer, paintLayer, showLayer } from './tiles.js';
import { createWords } from './words.js';

const NUMBERED = { heads: 12, layers: 8 }; // largest model whose tiles have numbers

const SMALLEST = { tile: 24, gap: 7, between: 1 }; // px; a finger needs 24
const CLEAR = { tile: 28, gap: 22 }; // px; below this tile, the gap for the strings shrinks first
const GROUPED = 16; // layers above which one group of GROUP layers is shown, and a button for each other group
const GROUP = 6;
const SWIPE = 60; // px of a swipe to the next layer

/** Creates a picture of attention blocks, and of the words below them; `line`: it has the line to the answer. */
export function createPicture(state, { row, kinds, line, hasMemory = false, steps = null }) {
  const rows = make('div.rows.grid');
  const next = make('div.next.serif', { 'aria-hidden': true });
  const element = make('section.picture');
  const tail = steps ? [steps] : line ? [next] : [];
  const words = createWords(state, row, { tail });
  const strings = createStrings(state, { element, words, line });
  const bottom = make('div.bottom.grid', words.element, ...tail);
  const memory = hasMemory ? createWords(state, row, { isMemory: true }) : null;
  element.append(strings.element, ...(memory ? [memory.element] : []), rows, bottom, words.strip);
  element.classList.toggle('lineless', !line);
  let layers = []; // rows of createLayer, the first layer first
  let shape = '';
  let narrow = false; // true on phones
  let group = 0; // the group of layers that is shown, of a model with many layers
  const painted = new Map(); // kind -> {bytes, look} that were painted last

  const build = data => {
    const blocks = kinds(data);
    const depth = Math.max(...blocks.map(kind => kind.layers));
    const isLarge = blocks.some(kind => kind.heads > NUMBERED.heads || kind.layers > NUMBERED.layers);
    const groups = depth > GROUPED ? Math.ceil(depth / GROUP) : 1;
    const [first, last] = groups > 1 ? [GROUP * group, Math.min(depth, GROUP * (group + 1))] : [0, depth];
    layers = Array.from({ length: last - first }, (_each, i) => first + i).flatMap(layer =>
      blocks
        .filter(kind => layer < kind.layers)
        .map(kind => createLayer(kind, layer, blocks.length > 1 || data.kinds.length > 1, !isLarge)),
    );
    const open = [...layers].reverse().flatMap(({ name, group: tiles }) => [name, tiles]);
    const all = Array.from({ length: groups }, (_each, i) => (i === group || groups === 1 ? open : [opener(i, depth)]));
    rows.replaceChildren(...all.reverse().flat());
    element.classList.toggle('large', isLarge);
    painted.clear();
    strings.reset();
  };

  /** Creates the button that shows a group of layers; its first layer is then selected. */
  const opener = (index, depth) =>
    make('button.button.small', {
      textContent: _('Layers {first} to {last}', {
        first: GROUP * index + 1,
        last: Math.min(depth, GROUP * (index + 1)),
      }),
      style: { 'grid-column': '1 / 3', 'justify-self': 'start' },
      onclick: () => state.select({ ...state.view.selection, layer: GROUP * index }),
    });

  rows.addEventListener('click', event => {
    const target = event.target.closest('[data-kind]');
    if (!target) return;
    const { kind, layer, head } = target.dataset;
    const old = state.view.selection;
    const scope = head === undefined ? 'row' : 'head';
    const next = { kind, layer: Number(layer), head: head === undefined ? old.head : Number(head), scope };
    const adds = scope === 'head' && kind === old.kind && ['head', 'and'].includes(old.scope.split('.')[0]);
    if (adds && (event.ctrlKey || event.metaKey)) {
      const grid = state.data.kinds.find(each => each.kind === kind);
      state.select(toggledHead(old, grid, next.layer, next.head));
    } else if (adds && event.shiftKey) state.select(boxedHeads(kind, [old.layer, old.head], [next.layer, next.head]));
    else state.select(clampSelection(next, state.data.kinds));
  });
  rows.addEventListener('pointerover', event => {
    if (event.pointerType !== 'mouse') return;
    const { kind, layer, head } = event.target.closest('.tile')?.dataset ?? {};
    state.preview({ head: kind ? { kind, layer: Number(layer), head: Number(head), scope: 'head' } : null });
  });
  rows.style.touchAction = 'pan-y';
  let touched = null; // place where a finger touched the tiles
  rows.addEventListener('pointerdown', event => (touched = event.pointerType === 'touch' ? event : null));
  rows.addEventListener('pointerup', event => {
    const [x, y] = touched ? [event.clientX - touched.clientX, event.clientY - touched.clientY] : [0, 0];
    if (narrow && Math.abs(x) > SWIPE && Math.abs(x) > 2 * Math.abs(y)) state.step(x < 0 ? 1 : -1);
  });
  rows.addEventListener('pointerleave', () => state.preview({ head: null }));
  rows.addEventListener('keydown', event => walk(state, event, layers));

  return {
    element,
    row,
    words,
    /** True if the words stand in several lines because the text is long; on phones and in pictures they always do. */
    get wraps() {
      return words.wraps && !narrow && !state.data.picture;
    },
    /** Builds what the payload needs; returns whether sizes must be measured again. */
    build(data) {
      const blocks = kinds(data);
      const depth = Math.max(...blocks.map(({ layers: l }) => l));
      if (depth <= GROUPED) group = 0;
      else if (blocks.some(({ kind }) => kind === state.view.selection.kind))
        group = Math.floor(state.view.selection.layer / GROUP);
      const key = JSON.stringify([
        group,
        ...blocks.map(({ kind, title, layers: l, heads }) => [kind, title, l, heads]),
      ]);
      const isNew = key !== shape;
      shape = key;
      if (isNew) build(data);
      const isWorded = words.build(data);
      memory?.build(data);
      if (state.fresh || isNew) {
        for (const kind of blocks) {
          const { data: bytes } = data.arrays[`tiles.${kind.kind}`];
          const look = JSON.stringify([kind.side, kind.packed, state.dark]);
          const old = painted.get(kind.kind);
          const memory = old?.look === look && old.bytes.length === bytes.length ? old.bytes : null;
          for (const each of layers) if (each.kind === kind.kind) paintLayer(each, kind, bytes, state.dark, memory);
          painted.set(kind.kind, { bytes, look });
        }
      }
      return isNew || isWorded;
    },
    /** Chooses the type size of the words from their width in one line, or lets them wrap. */
    fit(data, predicting) {
      narrow = getComputedStyle(element).getPropertyValue('--lines').trim() === '0';
      const isEnd = line && predicting === row && data.predicts.at(-1) === data.tokens[row].length - 1;
      element.classList.remove('wraps'); // wrapped words have another width than the line that is measured
      memory?.fit(data, { mustWrap: narrow, isEnd: false });
      words.fit(data, { mustWrap: narrow, isEnd });
      element.classList.toggle('wraps', words.element.classList.contains('wrapped') && !narrow); // it changes the positions that `measure` reads
      element.classList.toggle('split', words.split() && !narrow);
    },
    /** Returns the largest height of a row, and the largest width of a head, for `height` px of rows and words. */
    room(height) {
      const [{ group, tiles }] = layers;
      const lines = narrow ? Math.ceil((tiles.length * (SMALLEST.tile + SMALLEST.between)) / group.clientWidth) : 1;
      const heads = Math.ceil(tiles.length / lines);
      for (const each of layers) each.group.style.setProperty('--heads', heads);
      const free = height - element.offsetHeight + rows.offsetHeight;
      return [narrow ? Number.POSITIVE_INFINITY : free / layers.length, group.clientWidth / heads];
    },
    /** Makes the tiles and the gaps between the rows smaller where rows or heads have less room. */
    size(row, head) {
      for (const name of ['--tile', '--gap']) element.style.removeProperty(name);
      const lengthOf = name => Number.parseFloat(getComputedStyle(element).getPropertyValue(name));
      const [tile, gap, bus] = ['--tile', '--gap', '--bus'].map(lengthOf);
      const free = row - bus - SMALLEST.gap;
      const clear = Math.max(Math.min(free, CLEAR.tile), row - bus - CLEAR.gap);
      const fitted = Math.min(tile, Math.max(SMALLEST.tile, Math.min(head - SMALLEST.between, clear)));
      element.style.setProperty('--tile', `${fitted}px`);
      element.style.setProperty('--gap', `${Math.min(gap, Math.max(SMALLEST.gap, row - bus - fitted))}px`);
    },
    /** Measures the positions of words and tiles, once for all drawings until sizes change. */
    measure(data, end) {
      strings.measure(data, layers, end);
    },
    show(data, view, shown, draws) {
      for (const each of layers) showLayer(each, data, view, shown, state, narrow);
      words.show(data, shown);
      memory?.show(data, shown);
      strings.show(data, view, shown, layers, draws);
    },
    showNext(token, note) {
      if (next.dataset.shown === token + note) return;
      next.dataset.shown = token + note;
      next.hidden = !token;
      next.replaceChildren(
        make('bdi', { textContent: token, translate: false, dir: 'auto' }),
        make('small', { textContent: note }),
      );
    },
    get unit() {
      return strings.unit;
    },
  };
}

/** Moves the selection from tile to tile with the arrow keys. */
function walk(state, event, layers) {
  const from = event.target.closest('.tile')?.dataset;
  const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [1, 0], ArrowDown: [-1, 0] }[event.key];
  if (!from || (!move && event.key !== 'Home' && event.key !== 'End')) return;
  event.preventDefault();
  event.stopPropagation();
  const at = layers.findIndex(({ kind, layer }) => kind === from.kind && layer === Number(from.layer));
  const row = layers[Math.max(0, Math.min(layers.length - 1, at + (move?.[0] ?? 0)))];
  const last = row.tiles.length - 1;
  const head = move ? Math.max(0, Math.min(last, Number(from.head) + move[1])) : event.key === 'Home' ? 0 : last;
  row.tiles[head].button.focus();
  state.select({ kind: row.kind, layer: row.layer, head, scope: 'head' });
}
