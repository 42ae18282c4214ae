// Components of one group show the same position; see components/dial.

import { choices, mounted } from './stale.js';

/** The place that a component's group is at. */
export const groupPosition = ({ group, at, answered }) => choices.shown(group, at, answered ?? 0);

/**
 * All components of the group go to the place at once; Python hears of it, and what it has to compute follows.
 * `drag: false` ends a drag: undo takes back one at a time.
 */
export function moveGroup({ data: { group }, send }, place, drag = true) {
  choices.choose(group, place, send({ type: 'at', x: place, drag }));
  for (const other of mounted) if (other.data?.group === group) other.refresh();
}
