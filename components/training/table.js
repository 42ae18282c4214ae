// The table of recorded trainings: which attention type learns which task. Each cell opens its training.

import { _ } from '../core/texts.js';
import { make } from '../widgets/dom.js';

const header = (scope, title, line = '') => make('th', { scope }, title, make('small', { textContent: line }));

/** Creates {element, show(data)}. */
export function createTable(state) {
  const element = make('section', { className: 'overview' });
  const button = (className, event, ...children) =>
    make('button', { type: 'button', className, onclick: () => state.send(event) }, ...children);
  const result = ({ task, title }, column, { share, part, range }) => {
    const cell = button(
      'result',
      { type: 'cell', task, column: column.name },
      make('b', { textContent: share }),
      make('i', { style: { '--share': part } }),
      make('small', { textContent: range }),
    );
    cell.setAttribute('aria-label', [title, column.title, share].join(', '));
    return cell;
  };
  const show = ({ table: { columns, rows, about, note } }) => {
    const bodies = rows.map(({ task, title, line, cells, baseline }) =>
      make(
        'tr',
        {},
        header('row', title, line),
        ...cells.map((cell, index) => make('td', {}, result({ task, title }, columns[index], cell))),
        make('td', { className: 'note', textContent: baseline }),
      ),
    );
    const heads = [...columns.map(({ title }) => title), _('Without attention')].map(title => header('col', title));
    element.replaceChildren(
      make('h1', { className: 'serif', textContent: _('Which attention learns what?') }),
      make('p', { className: 'lead serif', textContent: about }),
      make(
        'div',
        { className: 'scrolls' },
        make('table', {}, make('thead', {}, make('tr', {}, make('td'), ...heads)), make('tbody', {}, ...bodies)),
      ),
      make('p', { className: 'note', textContent: note }),
      button('button primary', { type: 'own' }, _('Train one yourself')),
    );
  };
  return { element, show };
}
