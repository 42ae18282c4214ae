// A table of models: a row per way to attend, a column per task, a dot per model. A press on a dot opens the model.
// Several dots of one cell have visible names.

import { _ } from '../core/texts.js';
import { defineComponent } from '../runtime/component.js';
import { make } from '../widgets/dom.js';

function create(state) {
  const table = make('table', {});
  state.root.append(make('div', { className: 'models', tabIndex: 0, attributes: { role: 'region' } }, table));
  table.addEventListener('click', ({ target }) => {
    const { name } = target.closest('button')?.dataset ?? {};
    if (name) state.send({ type: 'model', model: name });
  });
  return { table };
}

function update({ table }, { tasks, rows, present }) {
  const head = make('tr', {}, cell('th', 'col', _('Attention')), ...tasks.map(task => cell('th', 'col', task)));
  const dot = ({ name, title, label, score }, task, isOne) =>
    make('button', {
      textContent: isOne ? '' : label,
      className: name === present ? 'dot present' : 'dot',
      title: score ? `${title}: ${score}` : title,
      dataset: { name },
      attributes: {
        'aria-label': `${isOne ? title : label}, ${task}`,
        ...(name === present && { 'aria-current': 'true' }),
      },
    });
  table.replaceChildren(
    make('thead', {}, head),
    make(
      'tbody',
      {},
      ...rows.map(({ title, line, cells }) => {
        const name = cell('th', 'row', title);
        name.append(make('span', { textContent: line }));
        return make(
          'tr',
          {},
          name,
          ...cells.map((dots, index) =>
            make('td', {}, ...dots.map(each => dot(each, tasks[index], dots.length === 1))),
          ),
        );
      }),
    ),
  );
  table.parentElement.setAttribute('aria-label', _('Models'));
}

const cell = (tag, scope, textContent) => make(tag, { textContent, attributes: { scope } });

export const models = defineComponent({ create, update });
