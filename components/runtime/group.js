// Components of one group show the same position; see components/dial.

import { choices, mounted } from './stale.js';

/** Returns the position of a component's group. */
export const groupPosition = ({ group, at, answered }) => choices.shown(group, at, answered ?? 0);

/**
 * Moves all components of the group to a position at once and sends an event to Python. `drag: false` ends a drag,
 * because one undo step takes back one drag.
 */
export function moveGroup({ data: { group }, send }, place, drag = true) {
  choices.choose(group, place, send({ type: 'at', x: place, drag }));
  for (const other of mounted) if (other.data?.group === group) other.refresh();
}
