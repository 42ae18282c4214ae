// Charts as trees and tables: lines, dots in rows, squares of heads. components/charts.py says what they are made of.

/** A text cut to about `room` px. */
lab.fittedText = (text, room, size) => {
  let [count, shown] = [Array.from(text).length, text];
  while (count > 4 && lab.textWidth(shown, size) > room) shown = lab.cut(text, (count -= 1));
  return shown;
};

/** Values along a line, a row for each name; what they come from by colour and form. */
lab.dotsChart = (spec, width, theme) => {
  const { ink, faint, line } = theme;
  const several = spec.series.length > 1;
  const key = several ? lab.key(spec.series, width, theme) : { height: 0, nodes: [] };
  const left = Math.min(Math.max(...spec.rows.map(name => lab.textWidth(name, 13))) + 14, 0.42 * width);
  const tall = 14 + 15 * spec.series.length;
  const [top, right] = [key.height + 34, width - 56];
  const bottom = top + tall * spec.rows.length;
  const limits = lab.extent([...spec.points.map(([, , value]) => value), ...(spec.rule ? [spec.rule.at] : [])]);
  const toX = lab.axis('linear', [], left + 8, right, limits);
  const ticks = lab.sparse(lab.roundTicks(limits.low, limits.high, 5), toX, tick => lab.value(tick, spec.percent));
  const word = (text, x, y, attributes) => ['text', { x: lab.px(x), y: lab.px(y), 'font-size': 12, fill: faint, ...attributes }, text];
  const title = { x: 0, y: 15, 'font-size': 14, 'font-weight': 600, fill: ink };
  const nodes = [['text', title, spec.x.title], ['g', { transform: 'translate(0 26)' }, ...key.nodes]];
  for (const tick of ticks) {
    nodes.push(['line', { x1: lab.px(toX(tick)), x2: lab.px(toX(tick)), y1: top, y2: bottom, stroke: line }]);
    nodes.push(word(lab.value(tick, spec.percent), toX(tick), bottom + 17, { 'text-anchor': 'middle' }));
  }
  if (spec.rule) {
    const at = lab.px(toX(spec.rule.at));
    nodes.push(['line', { x1: at, x2: at, y1: top, y2: bottom, stroke: faint, 'stroke-width': 1.5, 'stroke-dasharray': '3 3' }]);
    nodes.push(word(spec.rule.label, toX(spec.rule.at) + 5, bottom - 5, { 'font-size': 11 }));
  }
  spec.rows.forEach((name, row) => {
    const y = top + row * tall;
    nodes.push(['text', { x: 0, y: lab.px(y + tall / 2 + 5), 'font-size': 13, fill: ink }, lab.fittedText(name, left - 10, 13)]);
    nodes.push(['line', { x1: lab.px(left + 8), x2: lab.px(right), y1: lab.px(y + tall / 2), y2: lab.px(y + tall / 2), stroke: line, 'stroke-dasharray': '1 4' }]);
  });
  for (const [row, series, value] of spec.points) {
    const one = spec.series[series];
    const fill = lab.seriesColour(one.colour, theme);
    // Beside each other in a row, so that equal values of different origins can be seen.
    const y = top + row * tall + tall / 2 + (series - (spec.series.length - 1) / 2) * 15;
    const told = `${spec.rows[row]}${several ? `, ${one.name}` : ''}: ${lab.value(value, spec.percent)}`;
    nodes.push(lab.shape(one.dash ?? 0, toX(value), y, { fill }, ['title', {}, told]));
    const alone = spec.points.filter(([r, s]) => r === row && s === series).length === 1;
    if (alone) nodes.push(word(lab.value(value, spec.percent), toX(value) + 9, y + 4, { 'font-size': 11, fill: ink }));
  }
  return { width, height: bottom + 28, nodes, plots: [] };
};

const SQUARE = [14, 30]; // px, the least and the most a head takes

/** Each head as a square of one colour, layers down, a picture for each model. */
lab.squaresChart = (spec, width, theme) => {
  const { ink, faint, line } = theme;
  const most = spec.most || 1;
  const across = Math.max(1, Math.min(spec.panels.length, Math.floor((width + 24) / 185)));
  const each = (width - 24 * (across - 1)) / across;
  const nodes = [];
  let [y, tallest] = [0, 0];
  spec.panels.forEach(({ title, values, note }, index) => {
    const column = index % across;
    if (index && !column) [y, tallest] = [y + tallest + 16, 0];
    const x = column * (each + 24);
    const word = (text, at, down, attributes) => ['text', { x: lab.px(at), y: lab.px(down), 'font-size': 12, fill: faint, ...attributes }, text];
    nodes.push(['text', { x: lab.px(x), y: y + 15, 'font-size': 13, 'font-weight': 600, fill: ink }, lab.fittedText(title, each, 13)]);
    if (!values) {
      lab.wrapped(note ?? '', each, 12).forEach((text, i) => nodes.push(word(text, x, y + 38 + 17 * i)));
      tallest = Math.max(tallest, 60);
      return;
    }
    const side = Math.max(SQUARE[0], Math.min(SQUARE[1], Math.floor((each - 26) / values[0].length)));
    const [left, top] = [x + 22, y + 42];
    values[0].forEach((_, head) => nodes.push(word(String(head + 1), left + (head + 0.5) * side, top - 6, { 'text-anchor': 'middle' })));
    values.forEach((row, layer) => {
      nodes.push(word(String(layer + 1), left - 6, top + (layer + 0.5) * side + 4, { 'text-anchor': 'end' }));
      row.forEach((value, head) => {
        const fill = lab.hex(theme.dark, 'sequential', Math.round(255 * Math.min(1, Math.max(0, value / most))));
        const place = { x: lab.px(left + head * side), y: lab.px(top + layer * side), width: side, height: side, fill, stroke: line };
        const told = { title, layer: layer + 1, head: head + 1, value: `${lab.value(value)} ${spec.unit}` };
        const words = spec.pairs ? lab._('{title}, heads {layer} and {head}: {value}', told) : lab._('{title}, layer {layer}, head {head}: {value}', told);
        nodes.push(['rect', place, ['title', {}, words]]);
      });
    });
    tallest = Math.max(tallest, 42 + side * values.length);
  });
  const ticks = [0, 0.25, 0.5, 0.75, 1].map(at => ({ at, label: lab.value(Number((at * most).toPrecision(3))) }));
  const bar = { x: 22, y: y + tallest + 16, width: Math.min(260, width - 90), scale: 'sequential', ticks, after: spec.unit, theme };
  return { width, height: y + tallest + 48, nodes: [...nodes, ...lab.colourBar(bar)], plots: [] };
};

/** {width, height, nodes, plots} of any chart. `every`: each point can be pointed at, as files want it. */
lab.chartPicture = (spec, width, theme, every = false) =>
  ({ lines: lab.linesChart, dots: lab.dotsChart, squares: lab.squaresChart })[spec.form](spec, width, theme, every);

/** Its numbers: {columns, rows}. */
lab.chartTable = spec => {
  if (spec.form === 'squares')
    return {
      columns: ['picture', ...(spec.pairs ? ['head', 'other head'] : ['layer', 'head']), spec.unit],
      rows: spec.panels.flatMap(({ title, values }) =>
        (values ?? []).flatMap((row, layer) => row.map((value, head) => [title, layer + 1, head + 1, value])),
      ),
    };
  if (spec.form === 'dots')
    return {
      columns: ['name', 'from', spec.x.title],
      rows: spec.points.map(([row, series, value]) => [spec.rows[row], spec.series[series].name, value]),
    };
  return {
    columns: ['picture', 'line', spec.x.title, 'value', 'spread', 'note'],
    rows: spec.panels.flatMap(({ title = '', lines, rings = [], seeds = [] }) => [
      ...lines.flatMap(({ series, points }) =>
        points.map(([x, y, spread, note]) => [title, spec.series[series].name, x, y, spread ?? '', note ?? '']),
      ),
      ...[...rings, ...seeds].map(({ series, x, y, note }) => [title, spec.series[series].name, x, y, '', note]),
    ]),
  };
};
