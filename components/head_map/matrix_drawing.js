// Draws a matrix on two canvases: picture, grid lines and tokens on the lower, the crosshair on the upper. `matrix` is
// {rows, columns (tokens), own, causal, sink, template, predicts, pruned, opacity}; `size` is the result of mapLayout
// with `level`, which is true if key tokens are not rotated, and `zoom`, the px of the screen for one px (large type).

import { labelledTokens, labelSize } from '../core/attention/layout.js';
import { hiddenCells } from '../core/attention/pattern.js';
import { isolateDirection, tokenText, truncate } from '../core/format.js';
import { _ } from '../core/texts.js';
import { canvasFont } from '../widgets/canvas.js';

const TOP = 62; // height in px of the row of key tokens, as in layout.js

/** Returns the usual font size of labels in px, which is larger in large type. */
const usual = () => (document.documentElement.hasAttribute('data-large') ? 15 : 13);
const MOST = 24; // characters of the longest token label
const FAINT = 0.55; // opacity of the labels of a chat template's tokens
const NET = 9; // side in px of the smallest cell with grid lines

/** Clears a canvas and returns its context, scaled to CSS pixels. */
function prepared(canvas, size) {
  canvas.width = size.width * size.ratio;
  canvas.height = size.height * size.ratio;
  const context = canvas.getContext('2d');
  context.scale(size.ratio, size.ratio);
  context.font = canvasFont(usual());
  return context;
}

/** Returns the token cut to `room` px. */
function fitted(context, token, room) {
  const whole = tokenText(token);
  let [count, text] = [MOST, truncate(whole, MOST)];
  while (count > 1 && context.measureText(text).width > room) text = truncate(whole, (count -= 1));
  return isolateDirection(text);
}

/** Returns whether every key's token fits above its column of `cell` px without rotation. */
export function fitsLevel(columns, cell) {
  const context = document.createElement('canvas').getContext('2d');
  context.font = canvasFont(usual());
  return columns.every(token => context.measureText(truncate(tokenText(token), MOST)).width <= cell - 6);
}

function rowLabel(context, matrix, size, i) {
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  context.fillText(fitted(context, matrix.rows[i], size.left - 10), size.x - 6, size.y + (i + 0.5) * size.cell);
}

function columnLabel(context, matrix, size, j) {
  context.save();
  context.translate(size.x + (j + 0.5) * size.cell, size.y - 6);
  if (size.level) {
    context.textAlign = 'center';
    context.textBaseline = 'alphabetic';
    context.fillText(fitted(context, matrix.columns[j], size.cell), 0, 0);
  } else {
    context.rotate(-Math.PI / 2);
    context.textAlign = 'left';
    context.textBaseline = 'middle';
    context.fillText(fitted(context, matrix.columns[j], TOP - 8), 0, 0);
  }
  context.restore();
}

/** Draws thin grid lines, except above the diagonal of a causal map. */
function net(context, matrix, { x, y, cell }) {
  if (cell < NET) return;
  const { rows, columns } = matrix;
  const hidden = hiddenCells(matrix);
  context.globalAlpha = 0.55;
  context.beginPath();
  rows.forEach((_, i) =>
    columns.forEach((_, j) => {
      if (!hidden(i, j)) context.rect(x + j * cell, y + i * cell, cell, cell);
    }),
  );
  context.stroke();
  context.globalAlpha = 1;
}

/** Draws the cross of a pruned head, as on its tile. */
function crossOut(context, { x, y, right, bottom }, ink) {
  context.strokeStyle = ink;
  context.lineWidth = 2;
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x + right, y + bottom);
  context.moveTo(x, y + bottom);
  context.lineTo(x + right, y);
  context.stroke();
}

/** Draws the labels of every n-th token, so that labels do not overlap, and always that of the predicted position. */
function labels(context, matrix, size) {
  const { every, size: px } = labelSize(size.cell, usual(), size.zoom);
  context.font = canvasFont(px);
  // labels of a chat template's tokens are fainter than those of the text
  const ink = place => (context.globalAlpha = matrix.template?.includes(place) ? FAINT : 1);
  const predicted = matrix.predicts === undefined ? [] : [matrix.predicts];
  const rows = labelledTokens(matrix.rows.length, every, predicted);
  matrix.rows.forEach((_, i) => {
    ink(i);
    if (rows[i]) rowLabel(context, matrix, size, i);
  });
  const count = matrix.columns.length;
  const always = [...(matrix.sink ? [count - 1] : []), ...(matrix.own ? predicted : [])];
  const columns = labelledTokens(count, every, always);
  matrix.columns.forEach((_, j) => {
    ink(matrix.own ? j : -1);
    if (columns[j]) columnLabel(context, matrix, size, j);
  });
  context.globalAlpha = 1;
}

function axes(context, { x, y }) {
  context.font = canvasFont(usual());
  context.globalAlpha = 0.72;
  context.textAlign = 'right';
  context.textBaseline = 'alphabetic';
  context.fillText(_('key →'), x - 8, y - 26);
  context.fillText(_('query ↓'), x - 8, y - 8);
}

/** Draws a matrix; `picture` is a canvas with one pixel per weight. */
export function drawMatrix(canvas, picture, matrix, size, colours) {
  const context = prepared(canvas, size);
  const { x, y, right, bottom } = size;
  context.fillStyle = colours.panel;
  context.fillRect(x, y, right, bottom);
  context.imageSmoothingEnabled = false;
  context.globalAlpha = matrix.opacity;
  context.drawImage(picture, x, y, right, bottom);
  context.globalAlpha = 1;
  context.strokeStyle = colours.line;
  context.lineWidth = 1;
  net(context, matrix, size);
  context.strokeRect(x - 0.5, y - 0.5, right + 1, bottom + 1);
  if (matrix.pruned) crossOut(context, size, colours.ink);
  context.fillStyle = colours.ink;
  labels(context, matrix, size);
  axes(context, size);
}

/** Draws the crosshair at [query, key]; null draws nothing. */
export function drawCrosshair(canvas, at, matrix, size, colours) {
  const context = prepared(canvas, size);
  if (!at) return;
  const { x, y, cell, right, bottom, left } = size;
  const [i, j] = at;
  context.fillStyle = colours.ground; // a background behind the crosshair's two labels, which may cover other labels
  const half = usual() - 4;
  context.fillRect(x - left, y + (i + 0.5) * cell - half, left - 1, 2 * half);
  if (size.level) context.fillRect(x + j * cell, y - 20, cell, 19);
  else context.fillRect(x + (j + 0.5) * cell - half, 0, 2 * half, y - 1);
  context.fillStyle = colours.accent;
  context.font = `600 ${canvasFont(usual())}`;
  rowLabel(context, matrix, size, i);
  columnLabel(context, matrix, size, j);
  context.strokeStyle = colours.accent;
  context.lineWidth = 1.5;
  const isSink = matrix.sink && j === matrix.columns.length - 1;
  const top = matrix.causal && !isSink ? j * cell : 0;
  context.strokeRect(x, y + i * cell, matrix.causal && !matrix.sink ? (i + 1) * cell : right, cell);
  context.strokeRect(x + j * cell, y + top, cell, bottom - top);
  context.strokeStyle = colours.ink;
  context.lineWidth = 2;
  context.strokeRect(x + j * cell, y + i * cell, cell, cell);
}
