// Helpers for canvases: the font, and a matrix as pixels.

import { matrixPixels } from '../core/attention/scales.js';

/** Paints a matrix into a canvas, one pixel per cell; see matrixPixels for `step`. */
export function paintMatrix(canvas, rows, columns, table, step) {
  if (canvas.width !== columns) canvas.width = columns; // a canvas that gets a size is laid out again
  if (canvas.height !== rows) canvas.height = rows;
  const context = canvas.getContext('2d');
  const image = context.createImageData(columns, rows);
  new Uint32Array(image.data.buffer).set(matrixPixels(rows, columns, table, step));
  context.putImageData(image, 0, 0);
}

const TILE = 72; // px of a tile's side, twice the largest number of its cells
const scratch = globalThis.document?.createElement('canvas');

/** Paints a matrix into the canvas of a tile: the canvas keeps its size, because a new one at each letter is slow. */
export function paintTile(canvas, rows, columns, table, step) {
  paintMatrix(scratch, rows, columns, table, step);
  if (canvas.width !== TILE) canvas.width = canvas.height = TILE;
  const context = canvas.getContext('2d');
  context.imageSmoothingEnabled = false;
  context.clearRect(0, 0, TILE, TILE);
  context.drawImage(scratch, 0, 0, TILE, TILE);
}
