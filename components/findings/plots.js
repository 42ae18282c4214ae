// The marks of verdicts and the small plots of statements.

import { intervalScale } from '../core/figure/interval.js';
import { _ } from '../core/texts.js';
import { make } from '../widgets/dom.js';
import { svgElement } from '../widgets/menu.js';

const LINE = { fill: 'none', stroke: 'currentColor', 'stroke-width': 2 };
const circle = more => ['circle', { cx: 8, cy: 8, r: 6, ...more }];
/** @type {(d: string, more?: object) => any} */
const path = (d, more = LINE) => ['path', { d, ...more }];
const SHAPES = {
  disc: [
    circle({ fill: 'currentColor', r: 7 }),
    path('M4.800 8.200l2.300 2.300 4.200-4.600', { ...LINE, stroke: 'var(--on-accent)' }),
  ],
  ring: [circle(LINE)],
  half: [circle(LINE), path('M8 2a6 6 0 0 0 0 12z', { fill: 'currentColor' })],
  equal: [path('M2 5.500h12M2 10.500h12')],
  cross: [path('M3 3l10 10M13 3L3 13')],
  square: [path('M2.500 2.500h11v11h-11z', { fill: 'currentColor' })],
  dash: [path('M2 8h12')],
  dotted: [path('M2.500 2.500h11v11h-11z', { ...LINE, 'stroke-width': 1.5, 'stroke-dasharray': '2 2' })],
};

/** Creates the mark of a verdict, a key of SHAPES. */
export const markElement = mark =>
  svgElement(['svg', { viewBox: '0 0 16 16', class: `icon muted ${mark}`, 'aria-hidden': 'true' }, ...SHAPES[mark]]);

const sign = (className, at, to = at) => make('i', { className, style: { '--at': at, '--to': to } });

/** Creates the plot of a statement: the tested difference with its interval, 0 and the margin or limit, over an axis. */
export function plotElement({ plot }) {
  if (!plot) return make('small.small-plot', { textContent: _('no number'), 'aria-hidden': 'true' });
  const { value, low, high, bounds, holds_below: isBelow, unit } = plot;
  const { at, ticks } = intervalScale([0, value, low, high, ...bounds]);
  const named = index => (index < ticks.length - 1 ? '' : unit === '%' ? unit : ` ${unit}`);
  const axis = ticks.map(({ at: place, text }, index) =>
    make('span', { textContent: text + named(index), style: { '--at': place } }),
  );
  const holds = isBelow ? sign('holds', 0, at(bounds[0])) : sign('holds', at(bounds.at(-1)), 1);
  const signs = [holds, ...ticks.map(tick => sign('scale', tick.at)), sign('zero', at(0))];
  signs.push(...bounds.map(bound => sign('bound', at(bound))));
  signs.push(sign('range', at(low), at(high)), sign('value', at(value)));
  return make('div.small-plot', { 'aria-hidden': 'true' }, make('div.lane', ...signs), make('small.axis', ...axis));
}

/** Creates the explanation of the signs. */
export function legendElement() {
  const entry = (kind, text, at = 0.5, to = at) => make('span.inline', make('b.lane', sign(kind, at, to)), text);
  return make(
    'p.legend.wrap.fine',
    entry('value', _('tested difference, 90% interval')),
    entry('bound', _('margin or limit')),
    entry('holds', _('the statement holds'), 0, 1),
  );
}
