// The tiles of the heads: one row per layer of an attention block, the last layer on top.

import { colourTable } from '../core/attention/scales.js';
import { formatNumber } from '../core/format.js';
import { inScope, stateName } from '../core/head_state.js';
import { sameBytes } from '../core/payload.js';
import { formatShare } from '../core/stage/sentences.js';
import { tileBytes } from '../core/stage/weights.js';
import { _ } from '../core/texts.js';
import { paintTile } from '../widgets/canvas.js';
import { make, setAttribute, setText } from '../widgets/dom.js';

function tile({ kind }, layer, head, numbered) {
  const canvas = make('canvas');
  const badge = make('span.badge');
  const level = make('i.level');
  const button = make('button.tile', { tabIndex: -1, dataset: { kind, layer, head } });
  button.append(canvas, level, badge);
  const number = make('span.number.muted', { textContent: numbered ? head + 1 : '', 'aria-hidden': true });
  const gate = make('i.model-gate', { hidden: true });
  return { button, canvas, badge, level, gate, cell: make('span.cell', number, button, gate) };
}

/** Creates the row of a layer: {name, note, group, tiles}. */
export function createLayer(kind, layer, several, numbered) {
  const note = make('small');
  const short = kind.kind === 'decoder' ? _('Self-attention') : kind.title; // cross-attention stands in the row above
  const title = several
    ? _('Layer {layer}, {kind}', { layer: layer + 1, kind: kind.title })
    : _('Layer {layer}', { layer: layer + 1 });
  const name = make(
    'button.layer-name.muted',
    { dataset: { kind: kind.kind, layer }, title: _('Select the whole layer') },
    make('b', { textContent: _('Layer {layer}', { layer: layer + 1 }) }),
    ...(several ? [make('small', { textContent: short })] : []),
    make('span.short', { textContent: `L${layer + 1}`, 'aria-hidden': true }),
    note,
  );
  const tiles = Array.from({ length: kind.heads }, (_each, head) => tile(kind, layer, head, numbered));
  const group = make(
    'div',
    {
      className: kind.heads === 1 ? 'tiles grid single' : 'tiles grid',
      style: { '--heads': kind.heads },
      dataset: { layer: layer + 1 },
      role: 'group',
      'aria-label': title,
    },
    ...tiles.map(({ cell }) => cell),
  );
  return { kind: kind.kind, layer, name, note, group, tiles };
}

/** Draws the patterns of a row that differ from the last drawn ones. */
export function paintLayer(row, kind, packed, dark, memory) {
  const table = colourTable(dark, 'attention');
  const size = packed.length / (kind.layers * kind.heads);
  row.tiles.forEach(({ canvas }, head) => {
    const index = row.layer * kind.heads + head;
    if (memory && sameBytes(memory, packed, index * size, size)) return;
    paintTile(canvas, kind.side[0], kind.side[1], table, tileBytes(kind, packed, index));
  });
}

/** Shows the state and the selection of each head of a row; `narrow` on phones, where bars up to 1 logit are below. */
export function showLayer(row, data, view, shown, state, narrow) {
  const heads = view.heads[row.kind][row.layer];
  const kind = data.kinds.find(each => each.kind === row.kind);
  const { selection } = view;
  const mine = selection.kind === row.kind;
  const wholeLayer = mine && selection.scope === 'row' && selection.layer === row.layer;
  row.group.classList.toggle('on', wholeLayer);
  row.name.classList.toggle('on', wholeLayer);
  setAttribute(row.name, 'aria-pressed', wholeLayer);
  setText(row.note, layerNote(heads, row, shown, { isNamed: several(data), isPicture: Boolean(data.picture) }));
  const { found, chosen } = state.overlay;
  row.tiles.forEach(({ button, badge, level, gate: bar, cell }, head) => {
    const { constant, gate, closed, patched } = heads[head];
    const single = selection.scope === 'head' || selection.scope.startsWith('and.');
    const on = mine && single && inScope(selection, row.kind, row.layer, head);
    const lit = found?.some(each => each.kind === row.kind && each.layer === row.layer && each.head === head);
    const fed = chosen?.some(each => each.kind === row.kind && each.layer === row.layer && each.head === head);
    const pruned = gate === 0 || closed;
    const classes = {
      on,
      pruned,
      constant: constant && !pruned,
      gated: gate > 0 && gate < 1,
      patched: patched && !pruned,
      found: lit,
      dim: found && !lit,
      feeds: fed,
    };
    for (const [name, is] of Object.entries(classes)) button.classList.toggle(name, Boolean(is));
    setText(badge, pruned ? _('off') : gate < 1 ? formatShare(gate) : constant ? '=' : patched ? 'P' : '');
    if (gate > 0 && gate < 1) level.style.height = `${100 * gate}%`;
    const isMain = mine && head === selection.head && row.layer === selection.layer;
    button.tabIndex = (selection.scope === 'head' ? on : isMain) ? 0 : -1;
    setAttribute(button, 'aria-pressed', on);
    setAttribute(
      button,
      'aria-label',
      tileName(data, row, head, closed ? _('pruned in training') : stateName(constant, gate, patched), several(data)),
    );
    const index = row.layer * kind.heads + head;
    const gates = data.arrays[`gates.${row.kind}`]?.data;
    // a phone has no room for bars beside the tiles
    const stubs = narrow && view.marks.contributions ? data.arrays[`stubs.${row.kind}`]?.data : null;
    const moved = gates || stubs ? null : data.arrays[`moved.${row.kind}`]?.data;
    const length = stubs ? Math.min(1, Math.abs(stubs[index])) : (gates ?? moved)?.[index];
    bar.hidden = length === undefined;
    if (!bar.hidden) bar.style.setProperty('--gate', length);
    const colour = stubs ? (stubs[index] < 0 ? 'against' : 'accent') : moved ? 'ink' : 'muted';
    bar.style.setProperty('--bar', `var(--${colour})`);
    cell.title = moved ? `${_('moved attention')}: ${formatShare(length)}` : '';
    cell.classList.toggle('awaited', heads[head].touched);
  });
}

const several = ({ kinds }) => kinds.length > 1;

/** Returns the name of a tile for screen readers: Layer 3, head 5, pruned, contribution 0, before +1.73. */
function tileName({ arrays, kinds }, { kind, layer }, head, state, titled) {
  const { heads, title } = kinds.find(each => each.kind === kind);
  const value = name => arrays[name]?.data[layer * heads + head];
  const parts = [
    ...(titled ? [title] : []),
    _('Layer {layer}, head {head}', { layer: layer + 1, head: head + 1 }),
    state,
  ];
  const [now, before] = [value(`stubs.${kind}`), value(`stubs_before.${kind}`)];
  if (now !== undefined) parts.push(_('contribution {value}', { value: formatNumber(now, 2, true) }));
  if (before !== undefined) parts.push(_('before {value}', { value: formatNumber(before, 2, true) }));
  return parts.join(', ');
}

/** Returns the line under a layer's name: the states of its heads, else its input for the layer of the selected head. */
function layerNote(heads, { layer, kind }, { selection }, { isNamed, isPicture }) {
  const pruned = heads.filter(({ gate, closed }) => gate === 0 && !closed).length;
  const constant = heads.filter(({ gate, constant: is }) => is && gate > 0).length;
  const all = heads.length;
  if (pruned) return pruned === all ? _('pruned') : _('{n} pruned', { n: pruned });
  if (constant) return constant === all ? _('constant') : _('{n} constant', { n: constant });
  if (isNamed || selection.kind !== kind || selection.layer !== layer || selection.scope === 'all') return '';
  if (layer) return _('reads layer {layer}', { layer });
  return isPicture ? _('reads the picture') : _('reads the words');
}
