// The picture of the model at work: rows of tiles above the words, with the strings of the selected head.

import { clampSelection } from '../core/head_state.js';
import { make } from '../widgets/dom.js';
import { createStrings } from './strings.js';
import { createLayer, paintLayer, showLayer } from './tiles.js';
import { createWords } from './words.js';

const NUMBERED = { heads: 12, layers: 8 }; // largest model whose tiles have numbers

const DEEP = 6; // rows from which on the rows share the window's height
const AROUND = 330; // px of a window above and below the rows: header, lead, caption, words, text field
const SMALLEST_GAP = 6; // px

/**
 * Creates a picture of some attention blocks and the row of words below them: {element, show, measure, destroy}.
 * @param {any} state
 * @param {{row: string, kinds: (data: any) => any[], line: boolean, hasMemory?: boolean,
 *   steps?: HTMLElement}} part `row` of the words; `kinds` returns the blocks
 *   from the first that a layer computes to the last; `line` is true for the picture with the line to the answer,
 *   `hasMemory` for that of an encoder, whose output stands above its tiles; `steps` are the buttons beside written words
 */
export function createPicture(state, { row, kinds, line, hasMemory = false, steps = null }) {
  const rows = make('div', { className: 'rows' });
  const next = make('div', { className: 'next serif', attributes: { 'aria-hidden': true } });
  const element = make('section', { className: 'picture' });
  const tail = steps ? [steps] : line ? [next] : [];
  const words = createWords(state, row, { tail });
  const strings = createStrings(state, { element, words, line });
  const bottom = make('div', { className: 'bottom' }, words.element, ...tail);
  const memory = hasMemory ? createWords(state, row, { isMemory: true }) : null;
  element.append(strings.element, ...(memory ? [memory.element] : []), rows, bottom, words.strip);
  element.classList.toggle('lineless', !line);
  let layers = []; // rows of createLayer, the first layer first
  let shape = '';
  let narrow = false; // true on phones
  const painted = new Map(); // kind -> {bytes, look} that were painted last

  const build = data => {
    const blocks = kinds(data);
    const depth = Math.max(...blocks.map(kind => kind.layers));
    const isLarge = blocks.some(kind => kind.heads > NUMBERED.heads || kind.layers > NUMBERED.layers);
    layers = Array.from({ length: depth }, (_each, layer) =>
      blocks
        .filter(kind => layer < kind.layers)
        .map(kind => createLayer(kind, layer, blocks.length > 1 || data.kinds.length > 1, !isLarge)),
    ).flat();
    rows.replaceChildren(...[...layers].reverse().flatMap(({ name, group }) => [name, group]));
    element.classList.toggle('large', isLarge);
    painted.clear();
    strings.reset();
  };

  // many layers stand closer, so that all of them fit into the window
  const fitLayers = () => {
    if (layers.length <= DEEP) return element.style.removeProperty('--gap');
    const style = getComputedStyle(element);
    const [tile, bus] = ['--tile', '--bus'].map(name => Number.parseFloat(style.getPropertyValue(name)) || 0);
    const room = innerHeight / /** @type {any} */ (element.currentCSSZoom ?? 1) - AROUND;
    element.style.setProperty('--gap', `${Math.max(SMALLEST_GAP, room / layers.length - tile - bus)}px`);
    return undefined;
  };

  rows.addEventListener('click', event => {
    const target = event.target.closest('[data-kind]');
    if (!target) return;
    const { kind, layer, head } = target.dataset;
    const old = state.view.selection;
    const scope = head === undefined ? 'row' : 'head';
    const next = { kind, layer: Number(layer), head: head === undefined ? old.head : Number(head), scope };
    state.select(clampSelection(next, state.data.kinds));
  });
  rows.addEventListener('pointerover', event => {
    if (event.pointerType !== 'mouse') return;
    const { kind, layer, head } = event.target.closest('.tile')?.dataset ?? {};
    state.preview({ head: kind ? { kind, layer: Number(layer), head: Number(head), scope: 'head' } : null });
  });
  rows.addEventListener('pointerleave', () => state.preview({ head: null }));
  rows.addEventListener('keydown', event => walk(state, event, layers));

  return {
    element,
    row,
    words,
    /** True if the words stand in several lines because the text is long; on phones they always do. */
    get wraps() {
      return words.wraps && !narrow;
    },
    /** Builds what the payload needs; returns whether sizes must be measured again. */
    build(data) {
      const blocks = kinds(data);
      const key = JSON.stringify(blocks.map(({ kind, title, layers: l, heads }) => [kind, title, l, heads]));
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
      fitLayers();
      narrow = getComputedStyle(element).getPropertyValue('--lines').trim() === '0';
      const isEnd = line && predicting === row && data.predicts.at(-1) === data.tokens[row].length - 1;
      memory?.fit(data, { mustWrap: narrow, isEnd: false });
      words.fit(data, { mustWrap: narrow, isEnd });
    },
    /** Measures the positions of words and tiles, once for all drawings until sizes change. */
    measure(data, end) {
      strings.measure(data, layers, end);
    },
    show(data, view, shown, draws) {
      for (const each of layers) showLayer(each, data, view, shown, state);
      words.show(data, shown);
      memory?.show(data, shown);
      element.classList.toggle('wraps', words.wraps && !narrow);
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
