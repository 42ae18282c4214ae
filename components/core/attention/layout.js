// Where things are: the large map on its canvas, and the walk with arrow keys through map and grids.

const SIDE = 400; // px, the largest plot; the height does not depend on the number of tokens, so typing moves nothing
const TOP = 62; // px for the key tokens
const CELL = 100; // px, the largest cell
const LEAST = 80; // px, the smallest plot
const ROOMY = 220; // px, that a plot keeps where the screen is low

/**
 * The map's places in px: the plot begins at (x, y), `cell` is a cell's side, `left` the room for query tokens.
 * @param {number} width of the canvas; `ratio` is the screen's device pixel ratio.
 * @param {number} room px of height that there is for all of it; where there is less, the plot gets smaller, down to ROOMY.
 */
export function mapLayout(width, ratio, rows, columns, room = Infinity) {
  const left = width < 440 ? 74 : 96;
  const widest = Math.max(LEAST, Math.min(SIDE, width - left - 4));
  const side = Math.min(widest, Math.max(ROOMY, room - TOP - 4));
  const fit = Math.min(CELL, side / Math.max(rows, columns));
  const whole = Math.floor(fit * ratio) / ratio; // sharp edges where a cell is large enough to lose a part of a pixel
  const cell = fit >= 4 ? whole : fit;
  const x = Math.max(0, Math.floor((width - left - side) / 2)) + left;
  return { width, height: TOP + side + 4, ratio, cell, x, y: TOP, left, right: cell * columns, bottom: cell * rows };
}

/** [query, key] under a point of the canvas; null outside of the map, and above the diagonal of a causal one. */
export function cellAt({ x, y, cell, right, bottom }, px, py, causal) {
  if (px < x || py < y || px >= x + right || py >= y + bottom) return null;
  const [i, j] = [Math.floor((py - y) / cell), Math.floor((px - x) / cell)];
  return causal && j > i ? null : [i, j];
}

const clamp = (value, length) => Math.max(0, Math.min(length - 1, value));

/** Where a key moves the crosshair from `at` (null: it appears at the last query); undefined if it is no such key. */
export function mapStep(at, key, rows, columns, causal) {
  const [i, j] = at ?? [rows - 1, 0];
  const moves = {
    ArrowUp: [i - 1, j],
    ArrowDown: [i + 1, j],
    ArrowLeft: [i, j - 1],
    ArrowRight: [i, j + 1],
    Home: [i, 0],
    End: [i, columns - 1],
    Escape: null,
  };
  if (!Object.hasOwn(moves, key)) return undefined;
  if (key === 'Escape') return null;
  const [row, column] = at ? moves[key] : [i, j];
  const query = clamp(row, rows);
  return [query, clamp(column, causal ? Math.min(columns, query + 1) : columns)];
}

/**
 * Where a key moves the focus in the grids; null if nowhere. Row and column 0 are the headers, tiles begin at 1.
 * Over an edge one comes to the next grid's first tiles, or to the last of the one before.
 * @param {{layers: number, heads: number}[]} grids
 * @param {{grid: number, row: number, column: number}} at
 */
export function gridStep(grids, { grid, row, column }, key, control = false) {
  const { layers, heads } = grids[grid];
  const inside = (g, r, c) => ({ grid: g, row: Math.min(r, grids[g].layers), column: Math.min(c, grids[g].heads) });
  const [before, after] = [grids[grid - 1], grids[grid + 1]];
  switch (key) {
    case 'ArrowUp':
      if (row > 0) return inside(grid, row - 1, column);
      return before ? inside(grid - 1, before.layers, column) : null;
    case 'ArrowDown':
      if (row < layers) return inside(grid, row + 1, column);
      return after ? inside(grid + 1, 1, column) : null;
    case 'ArrowLeft':
      if (column > 0) return inside(grid, row, column - 1);
      return before ? inside(grid - 1, row, before.heads) : null;
    case 'ArrowRight':
      if (column < heads) return inside(grid, row, column + 1);
      return after ? inside(grid + 1, row, 1) : null;
    case 'Home':
      return inside(grid, control ? 1 : row, 1);
    case 'End':
      return inside(grid, control ? layers : row, heads);
    default:
      return null;
  }
}

const HEADING = 66; // px that a further grid's title and head numbers take
const TILE = [26, 96]; // px, the smallest that can still be pressed, and the largest

/** px that a tile may take, so that all layers of all grids have a place in `height`. */
export function tileSide(grids, height) {
  const layers = grids.reduce((sum, grid) => sum + grid.layers, 0);
  const room = height - HEADING * (grids.length - 1);
  return Math.max(TILE[0], Math.min(TILE[1], room / layers));
}

const GAP = 6; // px between a word and its tip, and between a tip and the window's edge

/**
 * Where a tip of this size stands, {left, top} in px of the window: under its word if there is room, else above it.
 * @param {{left: number, top: number, bottom: number, width: number}} word
 */
export function tipPosition(word, { width, height }, screen) {
  const centred = word.left + word.width / 2 - width / 2;
  const left = Math.max(GAP, Math.min(screen.width - width - GAP, centred));
  const under = word.bottom + GAP;
  const fits = under + height + GAP <= screen.height;
  return { left, top: fits ? under : Math.max(GAP, word.top - GAP - height) };
}
