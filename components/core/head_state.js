// Computes the state of the heads: Python's values with the events applied that Python has not handled yet.

import { _ } from './texts.js';

/** @typedef {{kind: string, layer: number, head: number, scope: string}} Selection `scope`: head, row, column, all, or
 * `and.0.3.1.2` for further heads, here head 3 of layer 0 and head 2 of layer 1 */

const addedKey = (layer, head) => `${layer}.${head}`;

/** Returns the heads that a scope adds one by one, as `layer.head`. */
export const addedHeads = scope => (scope.startsWith('and.') ? scope.slice(4).match(/\d+\.\d+/g) : []);

/** Returns whether a head belongs to a selection, or to the heads that an event changes. */
export const inScope = (selection, kind, layer, head) =>
  kind === selection.kind &&
  (selection.scope === 'all' ||
    addedHeads(selection.scope).includes(addedKey(layer, head)) ||
    ((selection.scope === 'column' || layer === selection.layer) &&
      (selection.scope === 'row' || head === selection.head)));

/** Returns 'live', 'constant', 'gate 0.40', 'constant, gate 0.40', 'pruned', or the same with 'patched', translated. */
export function stateName(constant, gate, patched = false) {
  if (patched && gate > 0)
    return [...(constant || gate < 1 ? [stateName(constant, gate)] : []), _('patched')].join(', ');
  const value = { gate: gate.toFixed(2) };
  if (gate === 0) return _('pruned');
  if (gate < 1) return constant ? _('constant, gate {gate}', value) : _('gate {gate}', value);
  return constant ? _('constant') : _('live');
}

/** Returns {selection, scale, heads} with the waiting events applied; a waiting event makes a head `touched`. */
export function pendingState({ grids, selection, scale }, waiting) {
  const now = { selection, scale, heads: {} };
  for (const { kind, constant, gates, closed, patched } of grids)
    now.heads[kind] = constant.map((row, layer) =>
      row.map((value, head) => ({
        constant: value,
        gate: gates[layer][head],
        closed: Boolean(closed?.[layer]?.[head]),
        patched: Boolean(patched?.[layer]?.[head]),
        touched: false,
      })),
    );
  for (const event of waiting) {
    const { type, kind, layer, head, scope, policy, base } = event;
    if (type === 'scale') now.scale = { policy, base };
    if (type === 'select') now.selection = { kind, layer, head, scope };
    if (type !== 'heads') continue;
    now.heads[kind]?.forEach((row, l) =>
      row.forEach((state, h) => {
        if (state.closed || !inScope(event, kind, l, h)) return;
        if (event.constant !== undefined) state.constant = event.constant;
        if (event.gate !== undefined) state.gate = event.gate;
        if (isReset(event)) state.patched = false;
        state.touched = true;
      }),
    );
  }
  return now;
}

/** Returns whether an event makes heads live, which also removes the patches of these heads. */
const isReset = ({ constant, gate }) => constant === false && gate === 1;

/** Returns the states (see pendingState) of the selected heads that can be changed. */
export const selectedStates = ({ heads, selection }) =>
  (heads[selection.kind] ?? []).flatMap((row, layer) =>
    row.filter(({ closed }, head) => !closed && inScope(selection, selection.kind, layer, head)),
  );

/** Returns the value of aria-pressed: 'true' if all states pass the test, 'false' if no state does, else 'mixed'. */
export function pressedState(states, test) {
  const count = states.filter(test).length;
  return count === 0 ? 'false' : count === states.length ? 'true' : 'mixed';
}

const STEP = 0.1; // change of the gate per press of the key + or -

/** Returns the change {constant?, gate?} that the key C, P, R, + or - makes to the given heads, or null. */
export function keyChange(key, states, canConstant = true) {
  if (!states.length) return null;
  const { gate } = states[0];
  const step = change => ({ gate: Math.min(1, Math.max(0, Math.round(100 * (gate + change)) / 100)) });
  switch (key.toLowerCase()) {
    case 'c':
      return canConstant ? { constant: pressedState(states, state => state.constant) !== 'true' } : null;
    case 'p':
      return { gate: pressedState(states, state => state.gate === 0) === 'true' ? 1 : 0 };
    case 'r':
      return { constant: false, gate: 1 };
    case '+':
    case '=':
      return step(STEP);
    case '-':
      return step(-STEP);
    default:
      return null;
  }
}

/** Returns the nearest selection that exists in the blocks. */
export function clampSelection(selection, grids) {
  const grid = grids.find(({ kind }) => kind === selection.kind) ?? grids[0];
  return {
    kind: grid.kind,
    layer: Math.max(0, Math.min(grid.layers - 1, selection.layer)),
    head: Math.max(0, Math.min(grid.heads - 1, selection.head)),
    scope: selection.scope,
  };
}

/** Returns a selection of heads, which are [layer, head] pairs; the first head is shown. */
export function someHeads(kind, heads) {
  const [[layer, head], ...others] = heads;
  const added = others.map(other => addedKey(other[0], other[1])).filter(key => key !== addedKey(layer, head));
  return { kind, layer, head, scope: added.length ? `and.${[...new Set(added)].join('.')}` : 'head' };
}

/** Returns the selected heads of a grid as [layer, head] pairs; the shown head is first. */
export function headsOf(selection, { kind, layers, heads }) {
  const pairs = kind === selection.kind ? [[selection.layer, selection.head]] : [];
  for (let layer = 0; layer < layers; layer += 1)
    for (let head = 0; head < heads; head += 1)
      if (inScope(selection, kind, layer, head) && (layer !== selection.layer || head !== selection.head))
        pairs.push([layer, head]);
  return pairs;
}

/** Returns the selection after Ctrl and a click on a head: the head is added, or removed if other heads remain. */
export function toggledHead(selection, grid, layer, head) {
  const old = headsOf(selection, grid);
  const rest = old.filter(([l, h]) => l !== layer || h !== head);
  if (rest.length === old.length) return someHeads(grid.kind, [...old, [layer, head]]);
  return rest.length ? someHeads(grid.kind, rest) : selection;
}

/** Returns the selection of all heads in the rectangle between two heads; the first head is shown. */
export function boxedHeads(kind, [layer, head], [toLayer, toHead]) {
  const range = (from, to) => {
    const step = to < from ? -1 : 1;
    return Array.from({ length: Math.abs(to - from) + 1 }, (_, i) => from + step * i);
  };
  return someHeads(
    kind,
    range(layer, toLayer).flatMap(l => range(head, toHead).map(h => [l, h])),
  );
}

/** Returns 'Layer 1, head 3', 'Layer 1, all heads', ..., with the attention block's title in front if there is one. */
export function scopeName({ layer, head, scope }, title = '') {
  const at = { layer: layer + 1, head: head + 1 };
  const added = addedHeads(scope).length;
  const some = added && _('{n} heads, layer {layer}, head {head} shown', { n: added + 1, ...at });
  const name =
    some ||
    {
      head: _('Layer {layer}, head {head}', at),
      row: _('Layer {layer}, all heads', at),
      column: _('Head {head}, all layers', at),
      all: _('All heads'),
    }[scope];
  return title ? `${title} · ${name}` : name;
}
