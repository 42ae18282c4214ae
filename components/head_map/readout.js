// The lines below the picture of a head: two lines about the cell under the pointer, and the colour scale.

import { cellValues, isDifference, rowStatistics, seenKeys } from '../core/attention/pattern.js';
import { colourTicks, cssGradient, scaleName } from '../core/attention/scales.js';
import { formatNumber, formatWeight, quoteToken } from '../core/format.js';
import { SHADINGS } from '../core/picture/maps.js';
import { _, N_ } from '../core/texts.js';
import { isTouch, make, setText } from '../widgets/dom.js';
import { addTip, termElement } from '../widgets/tip.js';

// The second line below the picture while the pointer is on no cell.
const LOOKS = {
  used: N_('A row shows how one query spreads its weight over the keys.'),
  live: N_('The pattern that this head computes from your text, before any change.'),
  constant: N_('Mean attention pattern of this head over many texts, cropped to the length of your text.'),
  difference: N_('Orange: more attention if this head were constant. Blue: less.'),
  change: N_('Orange: this head passes on more than in the unmodified model. Blue: less.'),
};

/**
 * Creates the two lines, which screen readers announce: {element, say(first, second)}. `first` may contain elements.
 */
export function createReadout() {
  const [first, second] = [make('div', { className: 'first' }), make('div', { className: 'second' })];
  const element = make('div', { className: 'readout', attributes: { 'aria-live': 'polite' } }, first, second);
  let firstText = '';
  return {
    element,
    say(one, two) {
      const parts = [one].flat();
      const text = parts.map(part => part.textContent ?? part).join('');
      if (text !== firstText) first.replaceChildren(...parts);
      firstText = text;
      setText(second, two);
    },
  };
}

/** Creates the choice of how weights become colours: {element, show(shading)}. Calls `choose` with root or linear. */
export function createShading(choose) {
  const element = make(
    'select',
    { className: 'shading', attributes: { 'aria-label': _('Colour scale') } },
    ...Object.entries(SHADINGS).map(([value, text]) => make('option', { value, textContent: _(text) })),
  );
  element.onchange = () => choose(element.value);
  addTip(element, 'colour-scale');
  return {
    element,
    show(shading) {
      element.value = shading;
    },
  };
}

/** Creates a colour bar with ticks between two elements: {element, show({dark, scale, ticks, before, after})}. */
export function createLegend() {
  const box = make('div', { className: 'scale' });
  const element = make('div', { className: 'legend' });
  let ends = null;
  return {
    element,
    show({ dark, scale, ticks, before, after }) {
      const bar = make('div', { className: 'bar', style: { background: cssGradient(dark, scale) } });
      const marks = ticks.map(({ at, label, fine }) =>
        make('span', {
          className: ['tick', fine ? 'fine' : '', END[at] ?? ''].filter(Boolean).join(' '),
          textContent: label,
          style: { left: `${100 * at}%` },
        }),
      );
      box.replaceChildren(bar, ...marks);
      const words = `${before.textContent}\n${after.textContent}`;
      // an unchanged legend is not replaced, so that the focus and an open tip stay
      if (words !== ends) element.replaceChildren(before, box, after);
      ends = words;
    },
  };
}

const END = { 0: 'begins', 1: 'ends' }; // position of a tick along the bar -> class of a label that stays in the panel

const word = text => make('span', { textContent: text });

const ENDS = {
  difference: [N_('← computed weights are higher'), N_('constant weights are higher →')],
  change: [N_('← less than before'), N_('more than before →')],
};

/** Returns the legend's content for the weights of a view, up to `most`. */
export function weightLegend(most, view, shading) {
  const [difference, ends] = [isDifference(view), ENDS[view]?.map(text => word(_(text)))];
  const ticks = colourTicks(Number(most.toPrecision(2)), difference, shading);
  const [before, after] = ends ?? [termElement('weight', _('weight')), ''];
  return { scale: scaleName(difference, shading), ticks, before, after };
}

/** Returns the two lines about the cell (i, j) of a matrix, or about no cell. */
export function cellReading({ data, view, values }, i, j) {
  if (view === 'used' && data.gate === 0) return [_('Pruned: no weight of this head has an effect.'), ''];
  if (i === null || i === undefined)
    return [
      isTouch() ? _('Tap a cell for its value.') : _('Point at a cell, or use the arrow keys, for its value.'),
      _(LOOKS[view]),
    ];
  const difference = isDifference(view);
  const isSink = data.sink && j === data.columns.length - 1;
  const names = { i: i + 1, query: quoteToken(data.rows[i]), j: j + 1, key: quoteToken(data.columns[j]) };
  const place = isSink ? _('query {i} {query} → sink:', names) : _('query {i} {query} → key {j} {key}:', names);
  const number = make('strong', { textContent: formatWeight(values(i, j), difference) });
  if (!difference) {
    const { value, count } = seenKeys(data, values, i);
    return [[`${place} `, number], rowReading(value, i, count)];
  }
  if (view === 'change') {
    const [used, base] = ['used', data.base].map(name => formatWeight(cellValues(data, name)(i, j)));
    const gate = data.gate < 1 ? _('gate {gate} × ', { gate: data.gate.toFixed(2) }) : '';
    return [[`${place} `, number], _('{gate}{used} − unmodified {base}', { gate, used, base })];
  }
  const [constant, live] = ['constant', 'live'].map(name => formatWeight(cellValues(data, name)(i, j)));
  return [[`${place} `, number], _('constant {constant} − computed {live}', { constant, live })];
}

/** Returns the sentence about a row's entropy, or about the row's sum if the sum is not 1. */
export function rowReading(value, i, count) {
  const { sum, entropy, most } = rowStatistics(value, i, count);
  if (Math.abs(sum - 1) > 0.005) return _('this row sums to {sum}', { sum: sum.toFixed(3) });
  return _('entropy of this row {entropy} of at most {most} nats', {
    entropy: formatNumber(entropy, 2),
    most: most.toFixed(2),
  });
}
