// What came of one text in several models, a row each: the answer, the loss, and how far apart they are.

const SAMPLE = [30, 14]; // px of a model's line and form, as in charts

function create(state) {
  const table = lab.make('table', { className: 'values' });
  state.root.append(table);
  return { table, numbers: table };
}

function update(state, { rows, asked, changed }) {
  const several = rows.length > 1;
  const heads = [
    lab._('Model'),
    asked || lab._('Answer'),
    lab._('Surprise at the text (loss, nats)'),
    ...(changed ? [lab._('How far the answer moved (KL, nats)')] : []),
    ...(several ? [lab._('How far from the first model (KL, nats)')] : []),
  ];
  const head = lab.make('tr', {}, ...heads.map(textContent => lab.make('th', { textContent, scope: 'col' })));
  const body = rows.map(row => {
    const name = lab.make('th', { scope: 'row' }, sample(row, state.dark), lab.make('span', {}, lab.make('b', { textContent: row.name }), ' ', lab.make('small', { textContent: row.title.toLowerCase() === row.name ? '' : row.title })));
    if (row.problem) return lab.make('tr', {}, name, lab.make('td', { className: 'problem', colSpan: heads.length - 1, textContent: row.problem }));
    const cells = [answer(row, changed), loss(row, changed), ...(changed ? [number(row.moved)] : []), ...(several ? [number(row.apart)] : [])];
    cells.forEach((cell, index) => {
      cell.dataset.head = heads[index + 1]; // what a phone shows before it, where there is no room for heads
    });
    return lab.make('tr', {}, name, ...cells);
  });
  state.table.replaceChildren(lab.make('thead', {}, head), lab.make('tbody', {}, ...body));
}

function sample({ colour, dash }, dark) {
  const [width, height] = SAMPLE;
  const stroke = lab.seriesColour(colour, { dark });
  const line = { x1: 0, x2: width, y1: height / 2, y2: height / 2, stroke, 'stroke-width': 2.5, ...lab.dash(dash) };
  const form = lab.shape(dash, width / 2, height / 2, { fill: stroke });
  return lab.vector(['svg', { width, height, 'aria-hidden': 'true' }, ['line', line], form]);
}

const cell = (...children) => lab.make('td', {}, ...children);

/** A label with its probability; right or wrong by a sign beside it. */
const told = (label, probability, right) =>
  lab.make(
    'span',
    { className: right === true ? 'right' : right === false ? 'wrong' : '' },
    lab.make('bdi', { textContent: lab.cut(lab.token(label), 20) }),
    right === true ? ' ✓ ' : right === false ? ' ✗ ' : ' ',
    lab.make('small', { textContent: lab.percent(probability) }),
  );

function answer({ answer: its }, changed) {
  if (!its) return cell('–');
  const before = told(its.before, its.p_before, its.right_before);
  return changed ? cell(before, ' → ', told(its.after, its.p_after, its.right_after)) : cell(before);
}

function loss({ loss: its }, changed) {
  if (!its) return cell('–');
  const { text, verdict } = lab.factLine({ name: '', before: its[0], after: its[1] }, changed, true);
  return cell(text, ...(verdict ? [lab.make('b', { className: verdict.className, textContent: verdict.text })] : []));
}

const number = value => cell(value === null ? '–' : lab.number(value, 3));

lab.comparison = lab.component({ create, update, parts: ['numbers'] });
