// What stands under the picture of a head: two lines that say what is pointed at, and the scale of its colours.

// What one looks at, while nothing is pointed at.
const LOOKS = {
  used: lab.N_('A row shows how one query spreads its weight over the keys.'),
  live: lab.N_('What the head computes from this text, before anything was done to it.'),
  constant: lab.N_('The mean of this head over many texts, cut to the length of yours.'),
  difference: lab.N_('Where this head would look more if it were constant (orange), and where less (blue).'),
};

/** {element, say(first, second)}: both lines are announced when they change. `first` may hold elements. */
lab.readout = () => {
  const [first, second] = [lab.make('div', { className: 'first' }), lab.make('div', { className: 'second' })];
  const element = lab.make('div', { className: 'readout', attributes: { 'aria-live': 'polite' } }, first, second);
  let said = '';
  return {
    element,
    say(one, two) {
      const parts = [one].flat();
      const text = parts.map(part => part.textContent ?? part).join('');
      if (text !== said) first.replaceChildren(...parts);
      said = text;
      lab.write(second, two);
    },
  };
};

/** {element, show({dark, scale, ticks, before, after})}: a bar of a scale's colours with its numbers, between what stands
 * before and after it. */
lab.legend = () => {
  const box = lab.make('div', { className: 'scale' });
  const element = lab.make('div', { className: 'legend' });
  let said = null;
  return {
    element,
    show({ dark, scale, ticks, before, after }) {
      const bar = lab.make('div', { className: 'bar', style: { background: lab.gradient(dark, scale) } });
      const marks = ticks.map(({ at, label, fine }) =>
        lab.make('span', { className: fine ? 'tick fine' : 'tick', textContent: label, style: { left: `${100 * at}%` } }),
      );
      box.replaceChildren(bar, ...marks);
      const words = `${before.textContent}\n${after.textContent}`;
      if (words !== said) element.replaceChildren(before, box, after); // else the focus and an open tip stay
      said = words;
    },
  };
};

const word = text => lab.make('span', { textContent: text });

/** What a legend shows of weights up to `most`, or of differences. */
lab.weightLegend = (most, difference) => ({
  scale: difference ? 'diverging' : 'sequential',
  ticks: lab.ticks(Number(most.toPrecision(2)), difference),
  before: difference ? word(lab._('← live is higher')) : lab.term('weight', lab._('weight')),
  after: difference ? word(lab._('constant is higher →')) : lab.term('square-root', lab._('square-root scale')),
});

/** What the two lines say of the cell (i, j) of a matrix, or of none: [first, second]. */
lab.cellReading = ({ data, view, values }, i, j) => {
  if (i === null || i === undefined)
    return [
      lab._('Point at a cell, or use the arrow keys, for its value.'),
      lab._(LOOKS[view]),
    ];
  const difference = view === 'difference';
  const place = lab._('query {i} {query} → key {j} {key}:', {
    i: i + 1,
    query: lab.quoted(data.rows[i]),
    j: j + 1,
    key: lab.quoted(data.columns[j]),
  });
  const number = lab.make('strong', { textContent: lab.exact(values(i, j), difference) });
  if (!difference) return [[`${place} `, number], lab.rowReading(values, i, data.causal ? i + 1 : data.columns.length)];
  const [constant, live] = ['constant', 'live'].map(name => lab.exact(lab.valuesOf(data, name)(i, j)));
  return [[`${place} `, number], lab._('constant {constant} − live {live}', { constant, live })];
};

/** A row's entropy in words, or its sum where it is no distribution. */
lab.rowReading = (value, i, count) => {
  const { sum, entropy, most } = lab.rowOf(value, i, count);
  if (Math.abs(sum - 1) > 0.005) return lab._('this row sums to {sum}', { sum: sum.toFixed(3) });
  return lab._('entropy of this row {entropy} of at most {most} nats', {
    entropy: lab.number(entropy, 2),
    most: most.toFixed(2),
  });
};
