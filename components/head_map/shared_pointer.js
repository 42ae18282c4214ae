// Several maps on a page show the same text: a cell under the pointer in one map is marked in all maps.

import { mounted } from '../runtime/stale.js';
import { setAttribute } from '../widgets/dom.js';

let busy = false;

/** Marks the cell (query, key), or none, in the page's other maps of the same size. */
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
      setAttribute(other.readout.element, 'aria-live', 'off'); // one announcement per key, not one per map
      other.matrix.point(i ?? null, j);
    }
  } finally {
    busy = false;
  }
}
