// A matrix with tokens on both axes and a crosshair, on two canvases: the lower canvas is drawn when data change, the
// upper canvas when the pointer moves.

import { cellAt, mapLayout, mapStep } from '../core/attention/layout.js';
import { hiddenCells } from '../core/attention/pattern.js';
import { mainElement } from '../runtime/streamlit.js';
import { paintMatrix } from '../widgets/canvas.js';
import { make, pointerPosition } from '../widgets/dom.js';
import { drawCrosshair, drawMatrix, fitsLevel } from './matrix_drawing.js';

const BELOW = 12; // space in px below a matrix in large type

/**
 * Returns the px from the element's top to the window's end on an unscrolled page, because in large type (for a class)
 * the whole picture must be visible. Otherwise returns Infinity.
 */
function roomOf(element) {
  if (!document.documentElement.hasAttribute('data-large')) return Infinity;
  const scrolled = mainElement()?.scrollTop ?? 0;
  return (innerHeight - element.getBoundingClientRect().top - scrolled - BELOW) / (element.currentCSSZoom ?? 1);
}

/**
 * Creates {element, show(matrix), point(i, j), at(), stop()}; calls `onPoint(i, j)`, or `onPoint(null)` for no cell, and
 * `onChoose(i, j)` for a click on a cell, or Enter. A tap with a finger only points.
 */
export function createMatrix(onPoint, onChoose) {
  const [lower, upper] = [make('canvas'), make('canvas', { className: 'upper' })];
  const element = make('div', { className: 'plot', tabIndex: 0, attributes: { role: 'application' } }, lower, upper);
  const picture = document.createElement('canvas');
  let now = null; // content of the shown matrix: {rows, columns (tokens), causal, sink, predicts, pruned, table, step}
  let size = null;
  let at = null;

  const colours = () => {
    const css = getComputedStyle(element);
    const get = name => css.getPropertyValue(name).trim();
    return {
      ink: get('--st-text-color'),
      ground: get('--st-background-color'),
      panel: get('--st-secondary-background-color'),
      line: get('--st-border-color'),
      accent: get('--st-primary-color'),
    };
  };

  const draw = () => {
    if (!now || !element.clientWidth) return;
    // large type zooms the page, so the canvas needs more pixels
    const zoom = element.currentCSSZoom ?? 1;
    const ratio = (globalThis.devicePixelRatio || 1) * zoom;
    const layout = mapLayout(element.clientWidth, ratio, now.rows.length, now.columns.length, roomOf(element));
    size = { ...layout, zoom, level: fitsLevel(now.columns, layout.cell) };
    element.style.height = `${size.height}px`;
    drawMatrix(lower, picture, now, size, colours());
    drawCrosshair(upper, at, now, size, colours());
  };

  const point = (i, j) => {
    if (!now || !size) return; // before the first data
    const next = i === null ? null : [i, hiddenCells(now)(i, j) ? i : j];
    if (String(next) === String(at)) return;
    at = next;
    drawCrosshair(upper, at, now, size, colours());
    onPoint(...(at ?? [null]));
  };

  const follow = event => {
    if (size) point(...(cellAt(size, ...pointerPosition(element, event), hiddenCells(now)) ?? [null]));
  };
  element.addEventListener('pointermove', follow);
  element.addEventListener('pointerdown', follow);
  element.addEventListener('click', event => {
    if (at && event.pointerType !== 'touch') onChoose(...at);
  });
  element.addEventListener('pointerleave', event => {
    if (event.pointerType === 'mouse') point(null);
  });
  element.addEventListener('keydown', event => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === 'Enter' && at) return onChoose(...at);
    const next = mapStep(at, event.key, now.rows.length, now.columns.length, hiddenCells(now));
    if (next === undefined || (!next && !at)) return;
    event.preventDefault();
    point(...(next ?? [null]));
  });
  const observer = new ResizeObserver(draw);
  observer.observe(element);

  return {
    element,
    at: () => at,
    point,
    show(matrix) {
      now = matrix;
      paintMatrix(picture, now.rows.length, now.columns.length, now.table, now.step);
      if (at && (at[0] >= now.rows.length || at[1] >= now.columns.length || hiddenCells(now)(...at))) at = null;
      draw();
    },
    stop: () => observer.disconnect(),
  };
}
