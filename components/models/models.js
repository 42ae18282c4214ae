// The page Models: a table of our models, a row per way to attend, a column per task, a dot per model; several dots of
// one cell have visible names. Below it, the field that opens a model of the Hub or of a folder, and suggestions for it.

import { _ } from '../core/texts.js';
import { defineComponent } from '../runtime/component.js';
import { make, makeButton, setAttribute, setChildren, setText } from '../widgets/dom.js';

const shortName = name => name.split('/')[1].replace('base-uncased-finetuned-sst-2-english', 'sst-2');

const heading = textContent => make('h2.serif.fill', { textContent });

function create(state) {
  const table = make('table.fill', { 'aria-label': _('Models') });
  table.addEventListener('click', ({ target }) => {
    const { name } = target.closest('button')?.dataset ?? {};
    if (name) state.send({ type: 'model', model: name });
  });
  const [label, help, about, size] = ['span', 'small', 'p', 'p'].map(tag => make(tag));
  help.id = 'help';
  const field = make('input', {
    ...{ className: 'input fill', spellcheck: false, autocomplete: 'off', translate: false },
    autocapitalize: 'off',
    'aria-describedby': help.id,
  });
  const find = text => {
    field.value = text;
    state.send({ type: 'find', text });
    state.refresh();
  };
  const open = make('button.button', { type: 'submit', textContent: _('Open') });
  const form = make('form.wrap', make('label', label, field), open);
  form.onsubmit = event => {
    event.preventDefault();
    if (!field.readOnly) find(field.value);
  };
  const found = make('div.wrap');
  found.append(
    makeButton('button primary', _('Load'), () => state.send({ type: 'load' })),
    size,
  );
  const [problems, errors] = ['status', 'alert'].map(role => make('div', { role }));
  problems.className = 'problems';
  const suggested = make('div.wrap');
  const title = make('h1.serif', { textContent: _('Choose a model') });
  const line = make('p', { textContent: _('Each dot is a model. Press one to open it.') });
  const own = [heading(_('A model of yours')), about, form, help, found, errors, suggested];
  state.root.append(make('main.place', problems, title, line, table, ...own));
  return { table, problems, errors, label, field, help, about, open, found, size, suggested, find, offered: '' };
}

function update(state, data) {
  const { table, root, found, field } = state;
  const { tasks, rows, present, offered, typed, groups, size } = data;
  for (const name of ['label', 'help', 'about', 'size']) setText(state[name], data[name]);
  for (const name of ['problems', 'errors'])
    setChildren(state[name], data[name], () => data[name].map(textContent => make('p', { textContent })));
  setChildren(table, [tasks, rows, present], () => tableParts(data));
  field.placeholder = data.example;
  if (offered !== state.offered && field !== root.getRootNode().activeElement) field.value = offered;
  state.offered = offered;
  field.readOnly = data.busy; // hidden, it would lose the focus
  found.hidden = !size;
  setAttribute(state.open, 'aria-disabled', data.busy || state.waiting().some(({ type }) => type === 'find'));
  const chip = name => makeButton('button small', shortName(name), () => state.find(name), { title: name });
  const group = ([name, names]) =>
    make('div.wrap', { role: 'group', 'aria-label': name }, make('small.fill', name), ...names.map(chip));
  setChildren(state.suggested, groups, () =>
    groups.length ? [heading(_('Models to begin with')), ...groups.map(group)] : [],
  );
  for (const each of state.suggested.querySelectorAll('button'))
    setAttribute(each, 'aria-pressed', each.title === typed);
  root.firstChild.classList.toggle('goes-on', !groups.length); // Streamlit draws the rest of the page
}

function tableParts({ tasks, rows, present }) {
  const head = make('tr', cell('th', 'col', _('Attention')), ...tasks.map(task => cell('th', 'col', task)));
  const dot = ({ name, title, label, score }, task, isOne) =>
    make('button', {
      textContent: isOne ? '' : label,
      className: `dot ${isOne ? 'inline' : 'flex'} ${name === present ? 'present' : ''}`,
      title: score ? `${title}: ${score}` : title,
      dataset: { name, task },
      'aria-label': `${isOne ? title : label}, ${task}`,
      ...(name === present && { 'aria-current': 'true' }),
    });
  const row = ({ title, line, cells }) => {
    const name = cell('th', 'row', title);
    name.append(make('span.muted', { textContent: line }));
    const dots = cells.map((own, index) =>
      make('td', { dataset: { task: tasks[index] } }, ...own.map(each => dot(each, tasks[index], own.length === 1))),
    );
    return make('tr', name, ...dots);
  };
  return [make('thead', head), make('tbody', ...rows.map(row))];
}

const cell = (tag, scope, textContent) => make(tag, { textContent, scope });

export const models = defineComponent({ create, update });
