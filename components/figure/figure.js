// A chart on the page, drawn by Vega, with a table of the chart's numbers and a download menu.

import { formatFigure } from '../core/csv.js';
import { fitSpec, positions, tableOf } from '../core/figure/spec.js';
import { visibleText } from '../core/format.js';
import { pageData } from '../core/page_data.js';
import { _ } from '../core/texts.js';
import { make, makeButton, onResize, setAttribute, setText } from '../widgets/dom.js';
import { createDownloadMenu } from '../widgets/download_menu.js';
import { figureFiles } from './files.js';
import { embed } from './vega.js';

const MANY = 3000; // number of rows above which a canvas is faster than SVG

function create(state) {
  const plot = make('div.plot', { role: 'img', 'aria-describedby': 'numbers' });
  const numbers = make('div', { id: 'numbers', className: 'spoken', hidden: true });
  const problem = make('p.problem', { hidden: true, role: 'status' });
  const table = make('table');
  const wide = make('div.wide.scrolls', { hidden: true, tabIndex: 0, role: 'region' }, table);
  const fold = makeButton('button small', _('Table'), () => showTable(state, wide.hidden), { 'aria-expanded': false });
  const take = createDownloadMenu(() => offer(state));
  const corner = make('div.corner.flex', fold, take.element);
  state.root.append(corner, plot, problem, wide, numbers);
  plot.addEventListener('keydown', event => walk(state, event));
  const unfollow = onResize(plot, () => draw(state));
  const parts = { plot, numbers, problem, table, wide, fold, take, unfollow };
  return { ...parts, shown: null, width: 0, turn: 0, result: null };
}

function update(state, { spec, title, alt, hidden = false }) {
  state.plot.hidden = hidden; // `draw` skips an element without a width
  setText(state.numbers, alt);
  setAttribute(state.plot, 'aria-label', title);
  setAttribute(state.wide, 'aria-label', title);
  const shown = state.fresh ? JSON.stringify([spec, state.dark]) : state.shown;
  if (state.shown === shown) return mark(state);
  state.shown = shown;
  if (!state.wide.hidden) showTable(state, true);
  const { datasets, ...rest } = spec;
  const frame = JSON.stringify([rest, Object.keys(datasets), state.dark]);
  if (state.drawnFrame === frame) return replaceRows(state, datasets);
  Object.assign(state, { frame, drawnFrame: null });
  state.width = 0;
  state.take.rename(_('Download: {title}', { title }));
  setAttribute(state.fold, 'aria-label', _('Table: {title}', { title }));
  draw(state);
}

/** Replaces the rows of a drawn chart, if nothing else of the chart has changed. */
function replaceRows(state, datasets) {
  for (const [name, rows] of Object.entries(datasets)) state.result.view.data(name, rows);
  state.result.view.run();
  mark(state);
}

/** Returns the marked position: the last chosen one, else that of the data. */
const position = ({ data }) => data.at;

/** Moves the mark of a drawn chart to the present position immediately. */
function mark(state) {
  const { result, data } = state;
  const at = position(state);
  if (!result || !data.spec.usermeta?.chooses || String(at) === state.plot.dataset.x) return;
  result.view.signal('at', at).run();
  state.plot.dataset.x = at;
}

async function draw(state) {
  const { plot, data, dark } = state;
  const width = plot.clientWidth;
  if (!data || !width || width === state.width) return;
  state.width = width;
  const turn = (state.turn += 1);
  const { frame } = state;
  const theme = dark ? 'dark' : 'light';
  const { themes, recolouring } = pageData.figures;
  const font = getComputedStyle(state.root).fontFamily;
  const { chooses = false } = data.spec.usermeta ?? {};
  const fit = narrower =>
    fitSpec(data.spec, {
      width,
      config: { ...themes[theme], font },
      colours: dark ? recolouring : {},
      narrower,
      ...(chooses && { at: position(state) }),
    });
  const canvas = Object.values(data.spec.datasets ?? {}).reduce((sum, rows) => sum + rows.length, 0) > MANY;
  // The plot's label, the description and the table contain the values; Vega's own label of each mark is hidden.
  const place = make('div.vega', { 'aria-hidden': 'true' });
  try {
    // The new chart is drawn outside the page and then replaces the former chart, so that nothing flickers.
    let result = await embed(place, fit(0), { dark, canvas });
    const wider = Math.ceil(widthOf(place) + 2 - width);
    if (data.spec.concat && wider > 0) {
      result.finalize();
      result = await embed(place, fit(wider), { dark, canvas });
    }
    if (turn !== state.turn) return void result.finalize();
    state.result?.finalize();
    Object.assign(state, { result, drawnFrame: frame });
    plot.replaceChildren(place);
    plot.dataset.x = chooses ? position(state) : '';
    plot.dataset.charts = state.turn;
    plot.classList.toggle('chooses', chooses);
    setAttribute(plot, 'role', chooses ? 'application' : 'img');
    plot.tabIndex = chooses ? 0 : -1;
    if (!chooses) plot.removeAttribute('tabindex');
    state.problem.hidden = true;
    if (chooses) result.view.addEventListener('click', (_event, item) => choose(state, positionOf(item)));
  } catch {
    if (turn !== state.turn) return;
    state.width = 0;
    setText(state.problem, _('Not drawn: the numbers are in the table.'));
    state.problem.hidden = false;
  }
}

/** Returns the width in px of a drawn chart with its axes; the chart need not be on the page. */
const widthOf = place =>
  Number.parseFloat((place.querySelector('svg') ?? place.querySelector('canvas'))?.getAttribute('width') ?? '0');

/** Returns the horizontal position of the datum of a mark, or of the nearest mark. */
const positionOf = item => (item?.datum?.datum ?? item?.datum)?.x;

/** Chooses a position; the mark moves immediately. */
function choose(state, x) {
  if (!Number.isFinite(x) || x === position(state)) return;
  state.data = { ...state.data, at: x };
  mark(state);
}

/** Chooses the previous, next, first or last position for a key. */
function walk(state, event) {
  if (!state.data?.spec.usermeta?.chooses) return;
  const xs = positions(state.data.spec);
  const now = position(state);
  const next = {
    ArrowLeft: xs.findLast(x => x < now) ?? now,
    ArrowRight: xs.find(x => x > now) ?? now,
    Home: xs[0],
    End: xs.at(-1),
  }[event.key];
  if (next === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  choose(state, next);
}

function showTable(state, shown) {
  state.wide.hidden = !shown;
  setAttribute(state.fold, 'aria-expanded', shown);
  if (!shown) return state.table.replaceChildren();
  const { columns, rows } = tableOf(state.data.spec);
  const textOf = value => (typeof value === 'number' ? formatFigure(value) : visibleText(value));
  state.table.replaceChildren(
    make('thead', make('tr', ...columns.map(textContent => make('th', { textContent, scope: 'col' })))),
    make('tbody', ...rows.map(row => make('tr', ...row.map(value => make('td', { textContent: textOf(value) }))))),
  );
}

function offer(state) {
  const { title, about, models, what, spec, link } = state.data;
  const at = spec.usermeta?.chooses ? position(state) : undefined;
  return { title, about, models, what, link, table: () => tableOf(spec), figure: figureFiles(spec, at) };
}

function destroy({ unfollow, take, result }) {
  result?.finalize();
  unfollow();
  take.close();
}

/** Creates a chart inside another component: {show(data, dark), close()}, with the data of components/figure. */
export function createFigure(root) {
  /** @type {any} */
  const state = { root };
  Object.assign(state, create(state));
  const show = (data, dark) => {
    Object.assign(state, { data: data.title === state.data?.title ? { ...data, at: state.data.at } : data, dark });
    state.fresh = true;
    update(state, state.data);
    state.fresh = false;
  };
  return { show, close: () => destroy(state) };
}
