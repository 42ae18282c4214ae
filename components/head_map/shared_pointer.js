// Several maps on a page show the same text: what is pointed at in one of them is marked in all.

import { mounted } from '../runtime/stale.js';
import { setAttribute } from '../widgets/dom.js';

let busy = false;

/** Marks (query, key), or nothing, in the other maps of the page that have as many of both. */
export function pointTogether(state, i, j) {
  if (busy || !state.data) return;
  busy = true;
  setAttribute(state.readout.element, 'aria-live', 'polite');
  try {
    for (const other of mounted) {
      const alike =
        other !== state &&
        other.matrix?.point &&
        other.data?.rows.length === state.data.rows.length &&
        other.data.columns.length === state.data.columns.length &&
        other.view !== 'mask';
      if (!alike) continue;
      setAttribute(other.readout.element, 'aria-live', 'off'); // one key is one sentence, not one of each map
      other.matrix.point(i ?? null, j);
    }
  } finally {
    busy = false;
  }
}
