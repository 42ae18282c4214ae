// A pattern as a matrix with its words: rows look, columns are looked at. Shared by the tools that show a pattern.

import { colourTable } from '../../core/attention/scales.js';
import { isolateDirection, tokenText, truncate } from '../../core/format.js';
import { cellIndex } from '../../core/payload.js';
import { formatShare } from '../../core/stage/sentences.js';
import { tileBytes, weightOf } from '../../core/stage/weights.js';
import { _ } from '../../core/texts.js';
import { paintMatrix } from '../../widgets/canvas.js';
import { make, pointerPosition, setText } from '../../widgets/dom.js';

const LABELS = { small: 14, wide: 64 }; // largest number of words with a label beside each row

/** Returns a function (row, column) -> byte of a whole map; undefined in an empty cell of a packed one. */
export function mapBytes({ data }, rows, columns) {
  const packed = data.length === (rows * (rows + 1)) / 2 && rows === columns && rows > 1;
  const place = cellIndex(packed, columns);
  return (i, j) => (packed && j > i ? undefined : data[place(i, j)]);
}

/** Returns the bytes of a head from the tiles if these are whole maps; null otherwise. */
export function headBytes({ arrays }, kind, layer, head) {
  const tiles = arrays[`tiles.${kind.kind}`];
  return kind.exact && tiles ? tileBytes(kind, tiles.data, layer * kind.heads + head) : null;
}

/** Creates a matrix: `rows` look at `columns`, the row `look` is marked, `act` is called with the row of a press. */
export function matrix({ rows, columns, byte, look, dark, off = false, square = false, wide = false, act }) {
  const canvas = make('canvas', { role: 'img', 'aria-label': _('Pattern: rows look') });
  paintMatrix(canvas, rows.length, columns.length, colourTable(dark, off ? 'unused' : 'attention'), byte);
  const row = make('i.looking', { style: { top: `${(100 * look) / rows.length}%`, height: `${100 / rows.length}%` } });
  const labels =
    rows.length <= (wide ? LABELS.wide : LABELS.small)
      ? [make('div.labels.grid.muted.nowrap', { 'aria-hidden': true, translate: false }, ...rows.map(label))]
      : [];
  const readout = make('p.readout.nowrap', { translate: false });
  const cells = make('div', { className: `cells${off ? ' off' : ''}` }, canvas, ...(square ? [make('b')] : []), row);
  cells.style.setProperty('--shape', `${columns.length} / ${rows.length}`);
  const cellOf = event => {
    const [x, y] = pointerPosition(cells, event);
    const { clientWidth, clientHeight } = cells;
    return [Math.floor((y / clientHeight) * rows.length), Math.floor((x / clientWidth) * columns.length)];
  };
  cells.addEventListener('pointermove', event => {
    const [i, j] = cellOf(event);
    const value = i < 0 || j < 0 ? undefined : byte(i, j);
    setText(
      readout,
      value === undefined || i >= rows.length || j >= columns.length
        ? ''
        : `${shown(rows[i])} → ${shown(columns[j])} ${formatShare(weightOf(value))}`,
    );
  });
  cells.addEventListener('pointerleave', () => setText(readout, ''));
  cells.addEventListener('click', event => {
    const [i] = cellOf(event);
    if (i >= 0 && i < rows.length) act(i);
  });
  return make('div.matrix.flex', { style: { '--rows': rows.length } }, ...labels, cells, readout);
}

const shown = token => isolateDirection(truncate(tokenText(token), 16));
const label = token => make('span', { textContent: shown(token) });
