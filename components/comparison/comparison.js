// A table of several models' results on one text: prediction, loss, and KL divergences, one row per model.

import { factLine } from '../core/effect_text.js';
import { formatNumber, formatPercent, tokenText, truncate } from '../core/format.js';
import { dashAttributes, marker, seriesColour } from '../core/picture/marks.js';
import { _ } from '../core/texts.js';
import { defineComponent } from '../runtime/component.js';
import { make, setText } from '../widgets/dom.js';
import { svgElement } from '../widgets/menu.js';

const SAMPLE = [30, 14]; // width and height in px of a model's line and marker, as in charts

function create(state) {
  const table = make('table', { className: 'values' });
  const takeaway = make('p', { className: 'takeaway', attributes: { role: 'status' } });
  state.root.append(takeaway, table);
  return { takeaway, table, numbers: table };
}

function update(state, { rows, heading, takeaway, changed }) {
  setText(state.takeaway, takeaway);
  state.takeaway.hidden = !takeaway;
  const several = rows.length > 1;
  const heads = [
    _('Model'),
    heading || _('Answer'),
    _('Loss on the text (nats)'),
    ...(changed ? [_('KL divergence from the unmodified model (nats)')] : []),
    ...(several ? [_('KL divergence from the first model (nats)')] : []),
  ];
  const head = make('tr', {}, ...heads.map(textContent => make('th', { textContent, scope: 'col' })));
  const body = rows.map(row => {
    const name = make(
      'th',
      { scope: 'row' },
      sample(row, state.dark),
      make('span', {}, make('b', { textContent: row.name }), ' ', make('small', { textContent: row.line })),
    );
    if (row.problem)
      return make(
        'tr',
        {},
        name,
        make('td', { className: 'problem', colSpan: heads.length - 1, textContent: row.problem }),
      );
    const cells = [
      answer(row, changed),
      loss(row, changed),
      ...(changed ? [number(row.kl)] : []),
      ...(several ? [number(row.kl_from_first)] : []),
    ];
    cells.forEach((cell, index) => {
      // the column's title, which is displayed before the cell on a phone, where the header row is hidden
      cell.dataset.head = heads[index + 1];
    });
    return make('tr', {}, name, ...cells);
  });
  state.table.replaceChildren(make('thead', {}, head), make('tbody', {}, ...body));
}

function sample({ colour, dash }, dark) {
  const [width, height] = SAMPLE;
  const stroke = seriesColour(colour, { dark });
  const line = {
    x1: 0,
    x2: width,
    y1: height / 2,
    y2: height / 2,
    stroke,
    'stroke-width': 2.5,
    ...dashAttributes(dash),
  };
  const form = marker(dash, width / 2, height / 2, { fill: stroke });
  return svgElement(['svg', { width, height, 'aria-hidden': 'true' }, ['line', line], form]);
}

const cell = (...children) => make('td', {}, ...children);

/** Creates the cell of an answer: label, probability, and a sign for right or wrong. */
const answerText = (label, probability, right) =>
  make(
    'span',
    { className: right === true ? 'right' : right === false ? 'wrong' : '' },
    make('bdi', { textContent: truncate(tokenText(label), 20) }),
    right === true ? ' ✓ ' : right === false ? ' ✗ ' : ' ',
    make('small', { textContent: formatPercent(probability) }),
  );

function answer({ answer: prediction }, changed) {
  if (!prediction) return cell('–');
  const before = answerText(prediction.before, prediction.p_before, prediction.right_before);
  return changed
    ? cell(before, ' → ', answerText(prediction.after, prediction.p_after, prediction.right_after))
    : cell(before);
}

function loss({ loss: value }, changed) {
  if (!value) return cell('–');
  const { text, verdict } = factLine({ name: '', before: value[0], after: value[1] }, changed, true);
  return cell(text, ...(verdict ? [make('b', { className: verdict.className, textContent: verdict.text })] : []));
}

const number = value => cell(value === null ? '–' : formatNumber(value, 3));

export const comparison = defineComponent({ create, update, parts: ['numbers'] });
