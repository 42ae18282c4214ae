// The page Findings: a strip of marks, the list of statements with small plots, and one opened statement, which stands
// beside the list or, on a narrow page, below its row.

import { momentOfKey } from '../core/stage/training.js';
import { _, stateQuery } from '../core/texts.js';
import { createMatrix, matrixTitle } from '../matrix/matrix.js';
import { defineComponent } from '../runtime/component.js';
import { mainElement } from '../runtime/streamlit.js';
import { linkedText, make, onResize, setAttribute, setText } from '../widgets/dom.js';
import { createDetail } from './detail.js';
import { legendElement, markElement, plotElement } from './plots.js';

const BESIDE = 980; // width in px from which the opened statement stands beside the list

function create(state) {
  const about = make('p.about.muted');
  const notice = make('p.notice', { role: 'status' });
  const strip = make('div.strip.wrap', { role: 'group', 'aria-label': _('Verdicts') });
  const list = make('div.list', { role: 'group', 'aria-label': _('Statements') });
  const columns = make('div.columns', list);
  const detail = createDetail(event => state.send(event));
  const method = make('a', { href: `${stateQuery({ page: 'about' })}#method`, textContent: _('Method') });
  const title = make('h1.serif', { textContent: _('What papers say, and what we measured') });
  const matrix = createMatrix(state);
  const size = make('small', { textContent: _('trained in seconds') });
  const entry = make('summary.serif', matrixTitle(), size);
  const trained = make('details.trained', entry, matrix.element);
  trained.ontoggle = () => {
    const { matrix: shown, open: opened } = state.data;
    if (trained.open !== shown.open) state.send({ type: 'open', statement: trained.open ? shown.key : opened.key });
  };
  const parts = [notice, title, about, method, trained, strip, legendElement(), columns];
  state.root.append(make('main.place.findings', ...parts));
  for (const [place, name] of [
    [strip, '.marks button'],
    [list, '.entry'],
  ])
    place.addEventListener('keydown', event => walk(state, event, [...place.querySelectorAll(name)]));
  const unfollow = onResize(state.root, () => state.data && put(state));
  return { about, notice, matrix, trained, strip, list, columns, detail, unfollow, listed: '', linked: false };
}

/** Returns the key of the statement that the visitor opened last. */
const currentKey = ({ data, waiting }) => waiting().findLast(({ type }) => type === 'open')?.statement ?? data.open.key;

/** Opens a statement, or moves the focus to the open one. */
function open(state, key) {
  if (key === currentKey(state)) return state.detail.element.focus();
  state.send({ type: 'open', statement: key });
  return mark(state);
}

/** Moves to the next statement of the strip or the list, and opens it. */
function walk(state, event, buttons) {
  const index = buttons.indexOf(event.target.closest('button'));
  const key = { ArrowDown: 'ArrowRight', ArrowUp: 'ArrowLeft' }[event.key] ?? event.key;
  const next = momentOfKey(key, index, buttons.length);
  if (index < 0 || next === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  buttons[next].focus();
  open(state, buttons[next].dataset.key);
}

function update(state, data) {
  const { about, notice, root, detail } = state;
  root.classList.toggle('large-type', Boolean(data.large));
  setText(notice, data.problems.join(' '));
  notice.hidden = !notice.textContent;
  setText(about, data.about);
  if (state.fresh) state.matrix.show(data.matrix);
  if (!state.waiting().some(({ type }) => type === 'open')) state.trained.open = data.matrix.open;
  const listed = JSON.stringify([data.verdicts, data.groups]);
  if (listed !== state.listed) Object.assign(state, { listed }, build(state, data));
  detail.show(data.open, state.dark);
  mark(state);
  put(state);
  if (state.linked) return;
  state.linked = true;
  const key = location.hash.slice(1); // links of former versions name a statement in the fragment
  if (state.rows[key] && key !== data.open.key) open(state, key);
  if (currentKey(state) !== Object.keys(state.rows)[0]) reveal(state);
}

/** Builds the strip and the list. Returns the rows and the marks by key. */
function build(state, { verdicts, groups }) {
  const [rows, marks] = [{}, {}];
  const statements = groups.flatMap(group => group.statements);
  state.strip.replaceChildren(
    ...verdicts.map(({ mark: shape, word, meaning }) => {
      const own = statements.filter(each => each.mark === shape);
      for (const { key, text } of own)
        marks[key] = make(
          'button.item',
          {
            title: text,
            dataset: { key },
            'aria-label': `${word}: ${text}`,
            onclick: () => {
              open(state, key);
              reveal(state);
            },
          },
          markElement(shape),
        );
      const name = make('p', { title: meaning }, make('b.serif', { textContent: own.length }), word);
      const line = make('div.marks.wrap', ...own.map(({ key }) => marks[key]));
      return make('div', name, line, make('span.spoken', { textContent: meaning }));
    }),
  );
  const rowOf = statement => {
    const { key, text, mark: shape, word, about } = statement;
    return (rows[key] = make(
      'button.entry.item.grid.fill',
      { dataset: { key }, onclick: () => open(state, key) },
      markElement(shape),
      make(
        'span',
        make('span.spoken', { textContent: `${word}: ` }),
        make('span.serif', { textContent: text }),
        make('small', { textContent: about }),
      ),
      plotElement(statement),
    ));
  };
  state.list.replaceChildren(
    ...groups.map(({ title, source, statements: own }) =>
      make('section', make('h2', title, make('small', ...linkedText(source))), ...own.map(rowOf)),
    ),
  );
  return { rows, marks };
}

/** Marks the open statement in the strip and in the list; the Tab key stops once in each. */
function mark(state) {
  const key = currentKey(state);
  for (const buttons of [state.rows, state.marks])
    for (const [each, button] of Object.entries(buttons)) {
      setAttribute(button, 'aria-current', each === key);
      button.tabIndex = each === key ? 0 : -1;
    }
}

/** Puts the opened statement beside the list or below its row, and keeps the row where it is on the screen. */
function put(state) {
  const { root, columns, detail, rows, data } = state;
  const isBeside = root.clientWidth >= BESIDE;
  columns.classList.toggle('beside', isBeside);
  const row = rows[data.open.key];
  if (isBeside ? detail.element.parentElement === columns : row.nextSibling === detail.element) return;
  const top = row.getBoundingClientRect().top;
  if (isBeside) columns.append(detail.element);
  else row.after(detail.element);
  if (!isBeside) mainElement()?.scrollBy(0, row.getBoundingClientRect().top - top);
}

/** Scrolls to the row of the open statement; a list beside the statement scrolls, and the page only if it must. */
function reveal(state) {
  const row = state.rows[currentKey(state)];
  state.list.scrollTop = row.offsetTop;
  row.scrollIntoView({ block: state.columns.classList.contains('beside') ? 'nearest' : 'start' });
}

export const findings = defineComponent({
  create,
  update,
  destroy: ({ unfollow, detail }) => {
    unfollow();
    detail.close();
  },
});
