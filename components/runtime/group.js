// Components of one group show the same position; see components/dial.

import { choices, mounted } from './stale.js';

/** Returns the position of a component's group. */
export const groupPosition = ({ group, at, answered }) => choices.shown(group, at, answered ?? 0);

/**
 * Moves all components of the group to a position immediately and sends an event to Python. `drag` is false for the
 * last event of a drag; all events of a drag are one undo step.
 */
export function moveGroup({ data: { group }, send }, place, drag = true) {
  choices.choose(group, place, send({ type: 'at', x: place, drag }));
  for (const other of mounted) if (other.data?.group === group) other.refresh();
}
