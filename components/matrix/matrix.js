// The matrix of recorded trainings: which attention type learns which task. Each cell opens its training.

import { _ } from '../core/texts.js';
import { make } from '../widgets/dom.js';

const header = (scope, title, line = '') => make('th', { scope }, title, make('small', { textContent: line }));

export const matrixTitle = () => _('Which attention learns what?');

/** Creates {element, show(matrix)}; `before` and `after` are elements around the table. */
export function createMatrix(state, before = [], after = []) {
  const element = make('section.overview');
  const button = (className, event, ...children) =>
    make('button', { className, onclick: () => state.send(event) }, ...children);
  const result = ({ task, title }, column, { share, part, range }) => {
    const cell = button(
      'result item fill',
      { type: 'cell', task, column: column.name },
      make('b.strong', { textContent: share }),
      make('i', { style: { '--share': part[0], '--low': part[1], '--high': part[2] } }),
      make('small', { textContent: range }),
    );
    cell.setAttribute('aria-label', [title, column.title, share].join(', '));
    return cell;
  };
  const show = ({ columns, rows, about, note }) => {
    const bodies = rows.map(({ task, title, line, cells, baseline }) =>
      make(
        'tr',
        header('row', title, line),
        ...cells.map((cell, index) => make('td', result({ task, title }, columns[index], cell))),
        make('td.note.muted', { textContent: baseline }),
      ),
    );
    const heads = [...columns.map(({ title }) => title), _('Without attention')].map(title => header('col', title));
    element.replaceChildren(
      ...before,
      make('p.lead.serif', { textContent: about }),
      make('p.note.muted', { textContent: note }),
      make('div.scrolls', make('table', make('thead', make('tr', make('td'), ...heads)), make('tbody', ...bodies))),
      ...after,
    );
  };
  return { element, show };
}
