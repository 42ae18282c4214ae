// A chart on the page: the values at the pointer or the arrow keys, and the download menu.

import { formatValue } from '../core/chart/axes.js';
import { chartPicture, chartTable } from '../core/chart/chart.js';
import { nearestLine, nearestValues, valuesAt } from '../core/chart/lines.js';
import { PAPER } from '../core/picture/svg.js';
import { _ } from '../core/texts.js';
import { defineComponent } from '../runtime/component.js';
import { groupPosition, moveGroup } from '../runtime/group.js';
import { make, pointerPosition, setAttribute, setText } from '../widgets/dom.js';
import { createDownloadMenu } from '../widgets/download_menu.js';
import { svgElement } from '../widgets/menu.js';
import { createPicking } from './picking.js';

const TIP = 14; // distance in px between the pointer's line and its text

function create(state) {
  const plot = make('div', { className: 'plot', attributes: { role: 'group', 'aria-describedby': 'numbers' } });
  const numbers = make('div', { id: 'numbers', className: 'said', hidden: true });
  const tip = make('div', { className: 'tip', hidden: true });
  const said = make('div', { className: 'said', attributes: { role: 'status' } });
  const take = createDownloadMenu(() => offer(state));
  state.root.append(make('div', { className: 'corner' }, take.element), plot, tip, said, numbers);
  const pointed = event => {
    const found = nearestValues(state.drawing?.plots ?? [], ...pointerPosition(plot, event));
    point(state, found);
    return found;
  };
  const lines = act => event => state.drawing?.dots || act(event);
  plot.addEventListener(
    'pointermove',
    lines(event => {
      const found = pointed(event);
      const named = event.target.closest('[data-series]')?.dataset.series;
      alone(state, named ?? (found && nearestLine(found.plot, ...pointerPosition(plot, event))));
    }),
  );
  plot.addEventListener(
    'pointerleave',
    lines(() => {
      point(state, null);
      alone(state, null);
    }),
  );
  plot.addEventListener(
    'click',
    lines(event => choose(state, pointed(event))),
  );
  plot.addEventListener(
    'keydown',
    lines(event => walk(state, event)),
  );
  plot.addEventListener(
    'blur',
    lines(() => point(state, null)),
  );
  const picking = createPicking(state, { plot, tip, said });
  const observer = new ResizeObserver(() => draw(state));
  observer.observe(plot);
  return { plot, tip, said, numbers, take, observer, picking, at: null, width: 0, shown: '' };
}

function update(state, { spec, title, alt }) {
  setText(state.numbers, alt);
  // Most answers change no chart, or one of several: the marked point in the others stays.
  const shown = state.fresh ? JSON.stringify([spec, title, state.dark]) : state.shown;
  if (state.shown === shown) return mark(state);
  state.shown = shown;
  state.take.rename(_('Download: {title}', { title }));
  state.width = 0;
  const kept = state.at && [state.drawing.plots.indexOf(state.at.plot), state.at.x];
  state.at = null;
  draw(state);
  const plot = kept && state.plot.matches(':focus') && state.drawing?.plots[kept[0]];
  // the arrow keys continue from this point
  if (plot?.xs.includes(kept[1])) point(state, { plot, x: kept[1], values: valuesAt(plot, kept[1]) });
}

/** Draws a line at the position of the chart's group (see components/dial), with the values of the series there. */
function mark({ data, drawing, place }) {
  if (!data.group || !place) return;
  const x = groupPosition(data);
  if (place.dataset.x === String(x)) return;
  place.dataset.x = x;
  place.replaceChildren(
    ...drawing.plots.flatMap(plot => upright(plot, x, { stroke: THEME.faint, 'stroke-width': 1.5 })),
  );
}

/**
 * Draws a vertical line through a plot at a value, with the values of its series; nothing if the plot has no such
 * value.
 */
function upright(plot, x, look) {
  const at = plot.toX(x);
  const { y, height } = plot.box;
  if (!Number.isFinite(at)) return [];
  const dots = valuesAt(plot, x).map(({ stroke, point: { x: cx, y: cy } }) =>
    svgElement(['circle', { cx, cy, r: 5, fill: stroke, stroke: THEME.ground, 'stroke-width': 1.5 }]),
  );
  return [svgElement(['line', { x1: at, x2: at, y1: y, y2: y + height, ...look }]), ...dots];
}

function draw(state) {
  const { plot, data, dark } = state;
  const width = plot.clientWidth;
  if (!data || !width || width === state.width) return;
  state.width = width;
  const theme = { ...THEME, dark };
  const drawing = (state.drawing = chartPicture(data.spec, width, theme));
  const svg = svgElement([
    'svg',
    { width, height: Math.ceil(drawing.height), 'aria-hidden': 'true' },
    ...drawing.nodes,
  ]);
  [state.place, state.guide] = [0, 1].map(() => svgElement(['g', { 'pointer-events': 'none' }]));
  svg.append(state.place, state.guide);
  plot.replaceChildren(svg);
  const walks = drawing.plots.length > 0 || Boolean(drawing.dots);
  setAttribute(plot, 'aria-label', data.title);
  setAttribute(plot, 'role', walks ? 'application' : 'img');
  plot.tabIndex = walks ? 0 : -1;
  plot.classList.toggle('chooses', Boolean(data.spec.chooses));
  plot.classList.toggle('picks', Boolean(drawing.dots));
  if (!walks) plot.removeAttribute('tabindex');
  point(state, null);
  mark(state);
  state.picking?.show();
}

// The colours of the page: custom properties follow its theme.
const THEME = {
  ink: 'var(--st-text-color)',
  faint: 'var(--faint)',
  line: 'var(--line)',
  ground: 'var(--ground)',
  panel: 'var(--panel)',
  accent: 'var(--accent)',
};

const CROWD = 3; // number of lines above which the line under the pointer is shown alone

/** Draws one series in front of the others, or all series normally. */
function alone({ plot, data }, series) {
  const one = series === null || data.spec.series.length <= CROWD ? null : String(series);
  if (plot.dataset.alone === (one ?? '')) return;
  plot.dataset.alone = one ?? '';
  for (const part of plot.querySelectorAll('[data-series]'))
    part.classList.toggle('aside', one !== null && part.dataset.series !== one);
}

/**
 * Shows the values at a position: a line through all plots that share it, and the values of the plot under the pointer.
 */
function point(state, found) {
  state.at = found;
  state.tip.hidden = !found?.values.length;
  state.guide?.replaceChildren();
  if (!found?.values.length) return;
  const { plots } = state.drawing;
  const shared = state.data.spec.x.shared ? plots : [found.plot];
  const look = { stroke: THEME.ink, 'stroke-width': 1, opacity: 0.5 };
  state.guide.append(...shared.flatMap(plot => upright(plot, found.x, look)));
  const { percent } = state.data.spec.panels[plots.indexOf(found.plot)];
  const lines = found.values.map(({ name, stroke, point: { value } }) => [
    make('i', { style: { background: stroke } }),
    make('span', { textContent: name }),
    make('b', {
      textContent: formatValue(value[1], percent) + (value[2] ? ` ± ${formatValue(value[2], percent)}` : ''),
    }),
  ]);
  const head = `${state.data.spec.x.title} ${formatValue(found.x)}`;
  state.tip.replaceChildren(make('strong', { textContent: head }), ...lines.flat());
  const { offsetWidth: wide } = state.tip;
  const at = found.plot.toX(found.x);
  const left = at + TIP + wide > state.width ? at - TIP - wide : at + TIP;
  state.tip.style.left = `${Math.max(0, left)}px`;
  state.tip.style.top = `${state.plot.offsetTop + found.plot.box.y + 4}px`;
}

/** Moves with the arrow keys through the values of a plot; up and down change the plot. */
function walk(state, event) {
  const { plots } = state.drawing ?? { plots: [] };
  const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity, ArrowUp: 0, ArrowDown: 0 }[event.key];
  if (event.key === 'Escape' && state.at) {
    event.preventDefault();
    point(state, null);
  }
  if (event.key === 'Enter') choose(state, state.at);
  if (step === undefined || !plots.length) return;
  event.preventDefault();
  const down = { ArrowUp: -1, ArrowDown: 1 }[event.key] ?? 0;
  const index = state.at ? plots.indexOf(state.at.plot) : 0;
  const plot = plots[Math.max(0, Math.min(plots.length - 1, index + down))];
  const last = plot.xs.length - 1;
  const from =
    state.at && Number.isFinite(step) ? plot.xs.indexOf(state.at.x) : Number.isFinite(step) ? last - step : 0;
  const now = from + step;
  const x = plot.xs[Math.max(0, Math.min(last, now))];
  point(state, { plot, x, values: valuesAt(plot, x) });
  setText(state.said, state.tip.hidden ? '' : state.tip.innerText.replace(/\n+/g, ' '));
}

function choose(state, found) {
  if (!found || !state.data.spec.chooses) return;
  if (state.data.group) moveGroup(state, found.x);
  else state.send({ type: 'at', x: found.x });
}

// width in px of a downloaded chart, by form
const WIDTH = { lines: 720, dots: 640, squares: 720, groups: 720, gates: 720, points: 720 };

function offer({ data }) {
  const { title, about, models, what, here = '' } = data;
  // In a file the group's position is a reference line of the chart.
  const rules = data.group ? [{ x: groupPosition(data), label: here }] : [];
  const panels = data.spec.panels?.map(panel => ({ ...panel, rules: [...(panel.rules ?? []), ...rules] }));
  const spec = rules.length ? { ...data.spec, panels } : data.spec;
  return {
    title,
    about,
    models,
    what,
    picture: () => chartPicture(spec, WIDTH[spec.form], PAPER, true),
    table: () => chartTable(spec),
  };
}

export const chart = defineComponent({
  create,
  update,
  parts: [],
  destroy: ({ observer, picking, take }) => {
    picking.stop();
    observer.disconnect();
    take.close();
  },
});
