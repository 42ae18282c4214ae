// Computes the state of the heads in the grids: Python's values with the unanswered events applied.

import { _ } from './texts.js';

/** @typedef {{kind: string, layer: number, head: number, scope: 'head' | 'row' | 'column' | 'all'}} Selection */

/** Returns whether a head is part of a selection, or of the heads that an event changes. */
export const inScope = (selection, kind, layer, head) =>
  kind === selection.kind &&
  (selection.scope === 'all' ||
    ((selection.scope === 'column' || layer === selection.layer) &&
      (selection.scope === 'row' || head === selection.head)));

/** Returns 'live', 'constant', 'gate 0.40', 'constant, gate 0.40' or 'pruned', in the visitor's language. */
export function stateName(constant, gate) {
  const value = { gate: gate.toFixed(2) };
  if (gate === 0) return _('pruned');
  if (gate < 1) return constant ? _('constant, gate {gate}', value) : _('gate {gate}', value);
  return constant ? _('constant') : _('live');
}

/**
 * Returns {selection, scale, heads: kind -> layers of {constant, gate, closed, touched}}: the payload with the waiting
 * events applied. A head is `touched` until Python has answered the event that changes it. A head that training pruned is
 * `closed` and never changes.
 */
export function pendingState({ grids, selection, scale }, waiting) {
  const now = { selection, scale, heads: {} };
  for (const { kind, constant, gates, closed } of grids)
    now.heads[kind] = constant.map((row, layer) =>
      row.map((value, head) => ({
        constant: value,
        gate: gates[layer][head],
        closed: Boolean(closed?.[layer]?.[head]),
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
        state.touched = true;
      }),
    );
  }
  return now;
}

/** Returns the states, as in pendingState, of the selected heads that can be changed. */
export const selectedStates = ({ heads, selection }) =>
  (heads[selection.kind] ?? []).flatMap((row, layer) =>
    row.filter(({ closed }, head) => !closed && inScope(selection, selection.kind, layer, head)),
  );

/** Returns the value of aria-pressed: 'true' if all states pass the test, 'false' if none does, else 'mixed'. */
export function pressedState(states, test) {
  const count = states.filter(test).length;
  return count === 0 ? 'false' : count === states.length ? 'true' : 'mixed';
}

const STEP = 0.1; // change of the gate per press of the key + or -

/**
 * Returns the change that the key C, P, R, + or - makes to the given heads, {constant?, gate?}, or null. All heads get the
 * same gate; steps start from the first head's gate.
 */
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

/** Returns the nearest selection that exists in the grids. */
export function clampSelection(selection, grids) {
  const grid = grids.find(({ kind }) => kind === selection.kind) ?? grids[0];
  return {
    kind: grid.kind,
    layer: Math.max(0, Math.min(grid.layers - 1, selection.layer)),
    head: Math.max(0, Math.min(grid.heads - 1, selection.head)),
    scope: selection.scope,
  };
}

/** Returns 'Layer 1, head 3', 'Layer 1, all heads', ..., with the attention block's title in front if there is one. */
export function scopeName({ layer, head, scope }, title = '') {
  const at = { layer: layer + 1, head: head + 1 };
  const name = {
    head: _('Layer {layer}, head {head}', at),
    row: _('Layer {layer}, all heads', at),
    column: _('Head {head}, all layers', at),
    all: _('All heads'),
  }[scope];
  return title ? `${title} · ${name}` : name;
}
