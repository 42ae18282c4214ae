// Marks the numbers on the page that are out of date, because they do not include the newest request yet.

import { createRequests } from '../core/pending.js';
import { setAttribute } from '../widgets/dom.js';

const DIM_DELAY = 120; // ms without a new payload after which outdated numbers are dimmed

export const requests = createRequests();

/** The states of the components on the page. */
export const mounted = new Set();

/** Marks each component whose numbers are out of date, and unmarks all other components. */
export function markStale() {
  for (const state of mounted) markComponent(state);
}

/** Marks a component if its numbers are out of date, and unmarks it otherwise. */
export function markComponent(state) {
  const { data, parts, numbers, root } = state;
  if (!parts.length || !data) return;
  const isOld = requests.newest(parts) > (data.answered ?? 0);
  root.classList.toggle('old', isOld);
  setAttribute(numbers ?? root, 'aria-busy', isOld);
  dim(state, isOld);
  state.marked?.();
}

/** Dims outdated numbers after DIM_DELAY ms. Most payloads arrive earlier, so nothing flickers. */
function dim(state, isOld) {
  if (isOld) {
    state.dimming ??= setTimeout(() => state.root.classList.add('dimmed'), DIM_DELAY);
    return;
  }
  clearTimeout(state.dimming);
  state.dimming = undefined;
  state.root.classList.remove('dimmed');
}
