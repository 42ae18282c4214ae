// Computes positions of the large map on its canvas, of tips, and of the next cell or tile for an arrow key.

// side of the largest plot in px. The height does not depend on the number of tokens, so typing moves no element.
const SIDE = 400;
const TOP = 62; // height in px of the row of key tokens
const CELL = 100; // side of the largest cell in px
const LEAST = 80; // side of the smallest plot in px
const ROOMY = 220; // side of the smallest plot on a low screen in px

/**
 * Returns the map's positions in px: the plot begins at (x, y), `cell` is a cell's side, `left` the width for query
 * tokens.
 * @param {number} width of the canvas
 * @param {number} ratio the device pixel ratio
 * @param {number} rows
 * @param {number} columns
 * @param {number} room height in px for the whole map; if it is too small, the plot shrinks, but not below ROOMY
 */
export function mapLayout(width, ratio, rows, columns, room = Infinity) {
  const left = width < 440 ? 74 : 96;
  const widest = Math.max(LEAST, Math.min(SIDE, width - left - 4));
  const side = Math.min(widest, Math.max(ROOMY, room - TOP - 4));
  const fit = Math.min(CELL, side / Math.max(rows, columns));
  // sides of cells are whole device pixels, so that edges are sharp; tiny cells keep fractions
  const whole = Math.floor(fit * ratio) / ratio;
  const cell = fit >= 4 ? whole : fit;
  const x = Math.max(0, Math.floor((width - left - side) / 2)) + left;
  return { width, height: TOP + side + 4, ratio, cell, x, y: TOP, left, right: cell * columns, bottom: cell * rows };
}

/**
 * Returns which tokens of an axis have a label: every n-th, and always those of `always`, next to which labels are
 * omitted. If two places of `always` are too close to each other, the first takes precedence.
 * @param {number} count
 * @param {number} every smallest distance of two labels, in tokens
 * @param {number[]} always
 * @returns {boolean[]}
 */
export function labelledTokens(count, every, always) {
  const isFree = places => place => places.every(other => Math.abs(other - place) >= every);
  const fixed = [];
  for (const place of always) if (isFree(fixed)(place)) fixed.push(place);
  return Array.from({ length: count }, (_, j) => fixed.includes(j) || (j % every === 0 && isFree(fixed)(j)));
}

const LABEL = 12; // smallest length in px of the screen of an axis per token label
const SMALLEST = 11; // smallest font size of labels in px of the screen

/**
 * Returns {every, size}: every n-th token gets a label, of this font size in px. Labels become smaller before one is
 * left out.
 * @param {number} cell side of a cell in px
 * @param {number} usual font size of labels with enough room, in px
 * @param {number} zoom px of the screen for one px: large type zooms the page
 */
export function labelSize(cell, usual, zoom = 1) {
  const every = Math.ceil(LABEL / zoom / cell);
  const fitting = Math.floor((every * cell - 1) * zoom) / zoom;
  return { every, size: Math.max(SMALLEST / zoom, Math.min(usual, fitting)) };
}

/** Returns [query, key] at a point of the canvas; null outside of the map and at cells for which `hidden(i, j)`. */
export function cellAt({ x, y, cell, right, bottom }, px, py, hidden) {
  if (px < x || py < y || px >= x + right || py >= y + bottom) return null;
  const [i, j] = [Math.floor((py - y) / cell), Math.floor((px - x) / cell)];
  return hidden(i, j) ? null : [i, j];
}

const clamp = (value, length) => Math.max(0, Math.min(length - 1, value));

/**
 * Returns the crosshair's next cell for a key, null for Escape, undefined for other keys. `at` null: the last query.
 * Cells for which `hidden(i, j)` are left out.
 */
export function mapStep(at, key, rows, columns, hidden) {
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
  let place = clamp(column, columns);
  if (key === 'ArrowRight') while (place < columns - 1 && hidden(query, place)) place += 1; // to a sink
  while (hidden(query, place)) place -= 1;
  return [query, place];
}

/**
 * Returns the next position of the focus in the grids for a key, or null. Row and column 0 are the headers; tiles begin
 * at 1. Beyond an edge, the focus moves to the first tiles of the next grid, or the last tiles of the previous grid.
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

const HEADING = 66; // height in px of the title and the head numbers of each further grid
const TILE = [26, 96]; // side of the smallest tile, which must be large enough to press, and of the largest tile, in px

/** Returns the side of a tile in px, so that all layers of all grids fit in `height`. */
export function tileSide(grids, height) {
  const layers = grids.reduce((sum, grid) => sum + grid.layers, 0);
  const room = height - HEADING * (grids.length - 1);
  return Math.max(TILE[0], Math.min(TILE[1], room / layers));
}

const GAP = 6; // gap in px between a word and its tip, and between a tip and the window's edge

/**
 * Returns {left, top} of a tip in px of the window: under the word if there is room, else above the word.
 * @param {{left: number, top: number, bottom: number, width: number}} word
 */
export function tipPosition(word, { width, height }, screen) {
  const centred = word.left + word.width / 2 - width / 2;
  const left = Math.max(GAP, Math.min(screen.width - width - GAP, centred));
  const under = word.bottom + GAP;
  const fits = under + height + GAP <= screen.height;
  return { left, top: fits ? under : Math.max(GAP, word.top - GAP - height) };
}
