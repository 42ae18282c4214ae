// A matrix with tokens on both axes and a crosshair, on two canvases: the lower one is drawn when data change, the
// upper one whenever the pointer moves.

const TOP = 62; // px for the key tokens, of layout.js
const LABEL = 12; // px that a label needs of its axis
const [SMALLEST, USUAL] = [11, 13]; // px of its type: where cells are small all labels are, before every other one goes
const BELOW = 12; // px that stay free under a matrix before a class
const FADED = 0.22; // of a pruned head's weights, as on its tile

/** px from the element's top to the screen's end, on a page that is not scrolled: before a class a picture is seen
 * whole. On one's own screen all there is. */
function roomOf(element) {
  if (!document.documentElement.hasAttribute('data-teach')) return Infinity;
  const scrolled = document.querySelector('[data-testid="stMain"]')?.scrollTop ?? 0;
  return (innerHeight - element.getBoundingClientRect().top - scrolled - BELOW) / (element.currentCSSZoom ?? 1);
}

/** {element, show(matrix, dark), point(i, j)}; calls `onPoint(i, j)`, or `onPoint(null)` when nothing is pointed at. */
lab.matrix = onPoint => {
  const [lower, upper] = [lab.make('canvas'), lab.make('canvas', { className: 'upper' })];
  const element = lab.make(
    'div',
    { className: 'plot', tabIndex: 0, attributes: { role: 'application' } },
    lower,
    upper,
  );
  const picture = document.createElement('canvas');
  let now = null; // what is shown: {rows, columns (tokens), causal, pruned, table, step}
  let size = null;
  let at = null;

  const style = () => {
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

  const prepare = canvas => {
    canvas.width = size.width * size.ratio;
    canvas.height = size.height * size.ratio;
    const context = canvas.getContext('2d');
    context.scale(size.ratio, size.ratio);
    context.font = lab.font(USUAL);
    return context;
  };

  /** The token, cut to `room` px. */
  const fitted = (context, token, room) => {
    let text = lab.cut(lab.token(token), 24);
    while (text.length > 1 && context.measureText(text).width > room)
      text = lab.cut(text, Math.min(23, Array.from(text).length - 1));
    return lab.isolated(text);
  };

  const level = context =>
    now.columns.every(t => context.measureText(lab.cut(lab.token(t), 24)).width <= size.cell - 6);

  const rowLabel = (context, i) => {
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    context.fillText(fitted(context, now.rows[i], size.left - 10), size.x - 6, size.y + (i + 0.5) * size.cell);
  };

  const columnLabel = (context, j) => {
    context.save();
    context.translate(size.x + (j + 0.5) * size.cell, size.y - 6);
    if (size.level) {
      context.textAlign = 'center';
      context.textBaseline = 'alphabetic';
      context.fillText(fitted(context, now.columns[j], size.cell), 0, 0);
    } else {
      context.rotate(-Math.PI / 2);
      context.textAlign = 'left';
      context.textBaseline = 'middle';
      context.fillText(fitted(context, now.columns[j], TOP - 8), 0, 0);
    }
    context.restore();
  };

  const drawLower = () => {
    const context = prepare(lower);
    const { x, y, cell, right, bottom } = size;
    size.level = level(context);
    const colours = style();
    context.fillStyle = colours.panel;
    context.fillRect(x, y, right, bottom);
    context.imageSmoothingEnabled = false;
    context.globalAlpha = now.pruned ? FADED : 1;
    context.drawImage(picture, x, y, right, bottom);
    context.globalAlpha = 1;
    context.strokeStyle = colours.line;
    context.lineWidth = 1;
    if (cell >= 9) {
      // a fine net, over what is drawn and not over what lies in the future
      context.globalAlpha = 0.55;
      context.beginPath();
      now.rows.forEach((_, i) =>
        now.columns.forEach((_, j) => {
          if (!now.causal || j <= i) context.rect(x + j * cell, y + i * cell, cell, cell);
        }),
      );
      context.stroke();
      context.globalAlpha = 1;
    }
    context.strokeRect(x - 0.5, y - 0.5, right + 1, bottom + 1);
    if (now.pruned) crossOut(context, colours.ink);
    context.fillStyle = colours.ink;
    const every = Math.ceil(LABEL / cell);
    context.font = lab.font(Math.max(SMALLEST, Math.min(USUAL, Math.floor(every * cell) - 1)));
    now.rows.forEach((_, i) => {
      if (i % every === 0) rowLabel(context, i);
    });
    now.columns.forEach((_, j) => {
      if (j % every === 0) columnLabel(context, j);
    });
    context.font = lab.font(USUAL);
    context.globalAlpha = 0.72;
    context.textAlign = 'right';
    context.textBaseline = 'alphabetic';
    context.fillText(lab._('key →'), x - 8, y - 26);
    context.fillText(lab._('query ↓'), x - 8, y - 8);
  };

  /** As on the head's tile: these weights are computed, and reach nothing. */
  const crossOut = (context, ink) => {
    const { x, y, right, bottom } = size;
    context.strokeStyle = ink;
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x + right, y + bottom);
    context.moveTo(x, y + bottom);
    context.lineTo(x + right, y);
    context.stroke();
  };

  const drawUpper = () => {
    const context = prepare(upper);
    if (!at) return;
    const { x, y, cell, right, bottom, left } = size;
    const [i, j] = at;
    const colours = style();
    context.fillStyle = colours.ground; // under the two labels, which may stand where there was none
    context.fillRect(x - left, y + (i + 0.5) * cell - 9, left - 1, 18);
    if (size.level) context.fillRect(x + j * cell, y - 20, cell, 19);
    else context.fillRect(x + (j + 0.5) * cell - 9, 0, 18, y - 1);
    context.fillStyle = colours.accent;
    context.font = `600 ${lab.font(13)}`;
    rowLabel(context, i);
    columnLabel(context, j);
    context.strokeStyle = colours.accent;
    context.lineWidth = 1.5;
    context.strokeRect(x, y + i * cell, now.causal ? (i + 1) * cell : right, cell);
    context.strokeRect(x + j * cell, now.causal ? y + j * cell : y, cell, now.causal ? bottom - j * cell : bottom);
    context.strokeStyle = colours.ink;
    context.lineWidth = 2;
    context.strokeRect(x + j * cell, y + i * cell, cell, cell);
  };

  const draw = () => {
    if (!now || !element.clientWidth) return;
    const ratio = (globalThis.devicePixelRatio || 1) * (element.currentCSSZoom ?? 1); // sharp in large type too
    size = lab.mapLayout(element.clientWidth, ratio, now.rows.length, now.columns.length, roomOf(element));
    element.style.height = `${size.height}px`;
    drawLower();
    drawUpper();
  };

  const point = (i, j) => {
    const next = i === null ? null : [i, Math.min(j, now.causal ? i : j)];
    if (String(next) === String(at)) return;
    at = next;
    drawUpper();
    onPoint(...(at ?? [null]));
  };

  const follow = event => {
    if (!size) return;
    const box = element.getBoundingClientRect();
    const zoom = box.width / element.clientWidth; // of large type: the pointer's pixels are the screen's
    const [px, py] = [(event.clientX - box.left) / zoom, (event.clientY - box.top) / zoom];
    point(...(lab.cellAt(size, px, py, now.causal) ?? [null]));
  };
  element.addEventListener('pointermove', follow);
  element.addEventListener('pointerdown', follow);
  element.addEventListener('pointerleave', event => {
    if (event.pointerType === 'mouse') point(null);
  });
  element.addEventListener('keydown', event => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const next = lab.mapStep(at, event.key, now.rows.length, now.columns.length, now.causal);
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
      lab.paint(picture, now.rows.length, now.columns.length, now.table, now.step);
      if (at && (at[0] >= now.rows.length || at[1] >= now.columns.length || (now.causal && at[1] > at[0]))) at = null;
      draw();
    },
    stop: () => observer.disconnect(),
  };
};
