// Parts of the tools' drawings: headings, sentences with words, bars, tables, choices.

import { formatNumber, quoteToken } from '../../core/format.js';
import { isSign, sentencePieces } from '../../core/stage/sentences.js';
import { make, makeButton, tokenElement } from '../../widgets/dom.js';

/** Creates a word of the text, which browsers must not translate. */
export const wordElement = (token, className = 'word') =>
  make('em', { className, translate: false }, isSign(token) ? quoteToken(token) : tokenElement(token));

/** Returns the nodes of a translated sentence; {names} are filled with nodes or strings. */
export const sentence = (text, slots = {}) =>
  sentencePieces({ text, slots: {} }).map(({ text: piece }) => {
    const name = /^\{(\w+)\}$/.exec(piece)?.[1];
    return name && Object.hasOwn(slots, name) ? slots[name] : piece;
  });

/** Creates a drawing's heading with a note in grey; both are strings or lists of nodes. */
export const heading = (title, small = '', ...more) =>
  make('div.title.wrap', make('h3', ...[title].flat(), ...smallOf(small)), ...more);

const smallOf = small => (small.length ? [' ', make('small', ...[small].flat())] : []);

/** Creates a remark in grey. */
export const note = (...nodes) => make('p.note', ...nodes.flat());

/** Creates bars with a name and a number each. Negative values are hatched and have another colour. */
export function bars(rows, { most, sans = false, off = false, first = false }) {
  const part = value => `${Math.min(100, (100 * Math.abs(value)) / most)}%`;
  const nameOf = (node, act) => (act ? make('button.name', { onclick: act }, node) : make('span.name', node));
  return make(
    'div',
    { className: `bars${sans ? ' sans' : ''}${off ? ' off' : ''}`, role: 'list' },
    ...rows.map((row, index) =>
      make(
        'div',
        { className: `row${first && !index ? ' first' : ''}`, role: 'listitem' },
        nameOf(row.name, row.act),
        make(
          'span.track',
          make('i', { className: row.value < 0 ? 'against' : '', style: { width: part(row.value) } }),
          ...(row.before === undefined ? [] : [make('u', { style: { left: part(row.before) } })]),
        ),
        make('span.amount.muted.nowrap', { textContent: row.text }),
      ),
    ),
  );
}

/** Creates a table. */
export const table = (columns, rows, className = '') =>
  make(
    'div.table',
    { tabIndex: 0 },
    make(
      'table',
      { className: `fill ${className}` },
      make('thead', make('tr', ...columns.map(cell => make('th', { scope: 'col' }, cell)))),
      make('tbody', ...rows.map(row => make('tr', ...row.map(cell => make('td', cell))))),
    ),
  );

/** Creates a choice among few [value, text], as buttons of which one is pressed. */
export const choice = (label, options, value, act) =>
  make(
    'div.segment.small.grid',
    { role: 'group', 'aria-label': label },
    ...options.map(([key, textContent]) =>
      make('button', { textContent, onclick: () => act(key), 'aria-pressed': key === value }),
    ),
  );

/** Creates a choice among many values, as a list with its label. */
export const list = (label, options, value, act) =>
  make(
    'label.chooser.inline.muted',
    make('span', { textContent: label }),
    make(
      'select',
      { onchange: event => act(event.target.value) },
      ...options.map(([key, textContent]) => make('option', { value: key, textContent, selected: key === value })),
    ),
  );

/** Creates a small button. */
export const button = (textContent, onclick, pressed) =>
  makeButton('button small', textContent, onclick, pressed === undefined ? {} : { 'aria-pressed': pressed });

/** Returns a signed number: +1.73, −0.37. */
export const signed = (value, digits = 2) => formatNumber(value, digits, true);
