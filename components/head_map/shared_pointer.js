// Marks the cell under the pointer in all maps of a page, because several maps show the same text.

import { mounted } from '../runtime/stale.js';
import { setAttribute } from '../widgets/dom.js';

let busy = false;

/** Marks the cell (query, key) in the page's other maps of the same size; without a query, removes the marks. */
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
      // other maps are silent, so that screen readers announce one cell per key press and not one per map
      setAttribute(other.readout.element, 'aria-live', 'off');
      other.matrix.point(i ?? null, j);
    }
  } finally {
    busy = false;
  }
}
