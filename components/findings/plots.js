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
    path('M4.800 8.200l2.300 2.300 4.200-4.600', { ...LINE, class: 'tick' }),
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
  svgElement(['svg', { viewBox: '0 0 16 16', class: `mark ${mark}`, 'aria-hidden': 'true' }, ...SHAPES[mark]]);

const sign = (className, at, to = at) => make('i', { className, style: { '--at': at, '--to': to } });

/** Creates a line of signs with its axis below. */
function lane(className, { ticks }, signs, name = '') {
  const axis = ticks.map(({ at, text }) => make('span', { textContent: text, style: { '--at': at } }));
  const grid = ticks.map(({ at }) => sign('grid', at));
  return [
    ...(name ? [make('small', { textContent: name })] : []),
    make('div', { className: `lane ${className}` }, ...grid, ...signs),
    make('div.axis', ...axis),
  ];
}

/**
 * Creates the plots of a statement: the tested difference with its interval, 0 and the margin or limit; and, if the
 * paper's numbers have the unit of ours, both on one line.
 * @param {{plot: any, numbers: any}} statement as in app/findings/statement.py
 * @param {boolean} isNamed whether the lines have names
 */
export function plotElement({ plot, numbers }, isNamed = false) {
  const parts = [];
  if (plot) {
    const { value, low, high, bounds } = plot;
    const scale = intervalScale([0, value, low, high, ...bounds]);
    const { at } = scale;
    const limits = bounds.map(bound => sign('bound', at(bound)));
    const signs = [sign('zero', at(0)), ...limits, sign('range', at(low), at(high)), sign('value', at(value))];
    parts.push(...lane('difference', scale, signs));
  }
  if (numbers) {
    const { ours, paper, rule, title } = numbers;
    const scale = intervalScale([...ours, ...paper, ...(rule ? [rule[0]] : [])]);
    const put = (className, values) => values.map(value => sign(className, scale.at(value)));
    const signs = [...(rule ? put('zero', [rule[0]]) : []), ...put('ours', ours), ...put('paper', paper)];
    const name = rule ? _('{title} ({name} = {value})', { title, name: rule[1], value: rule[0] }) : title;
    parts.push(...lane('numbers', scale, signs, isNamed ? name : ''));
  }
  if (!parts.length) parts.push(make('small', { textContent: _('no number') }));
  return make('div.small-plot', { 'aria-hidden': 'true' }, ...parts);
}

/** Creates the explanation of the signs. */
export function legendElement() {
  const entry = (className, text) => make('span', make('b.lane', sign(className, 0.5)), text);
  return make(
    'p.legend',
    entry('value', _('tested difference, 90% interval')),
    entry('bound', _('margin or limit')),
    entry('ours', _('our numbers')),
    entry('paper', _("the paper's numbers, if in this unit")),
  );
}
