// Several maps on a page show the same text: what is pointed at in one of them is marked in all.

let busy = false;

/** Marks (query, key), or nothing, in the other maps of the page that have as many of both. */
lab.pointTogether = (state, i, j) => {
  if (busy || !state.data) return;
  busy = true;
  for (const other of lab.living) {
    const alike =
      other !== state &&
      other.matrix?.point &&
      other.data?.rows.length === state.data.rows.length &&
      other.data.columns.length === state.data.columns.length &&
      other.view !== 'mask';
    if (alike) other.matrix.point(i ?? null, j);
  }
  busy = false;
};
