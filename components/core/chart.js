// Charts as trees and tables: lines, dots in rows, squares of heads. components/charts.py says what they are made of.

/** A text cut to about `room` px. */
lab.fittedText = (text, room, size) => {
  let [count, shown] = [Array.from(text).length, text];
  while (count > 4 && lab.textWidth(shown, size) > room) shown = lab.cut(text, (count -= 1));
  return shown;
};

const ICON = 44; // px in the upper right corner, where the page has what takes the picture away

/** Values along a line, a row for each name; what they come from by colour and form. */
lab.dotsChart = (spec, width, theme) => {
  const { ink, faint, line } = theme;
  const several = spec.series.length > 1;
  const key = several ? lab.key(spec.series, width, theme) : { height: 0, nodes: [] };
  const left = Math.min(Math.max(...spec.rows.map(name => lab.textWidth(name, 13))) + 14, 0.42 * width);
  const names = spec.rows.map(name => lab.wrapped(name, left - 10, 13, 2));
  const tall = Math.max(14 + 15 * spec.series.length, ...names.map(lines => 10 + 15 * lines.length));
  const titled = lab.wrapped(spec.x.title, width - ICON, 15); // bold, so wider than it is high
  const over = 17 * (titled.length - 1);
  const [top, right] = [key.height + 40 + over, width - 56];
  const bottom = top + tall * spec.rows.length;
  const limits = lab.extent([...spec.points.map(([, , value]) => value), ...(spec.rule ? [spec.rule.at] : [])]);
  const toX = lab.axis('linear', [], left + 8, right, limits);
  const ticks = lab.sparse(lab.roundTicks(limits.low, limits.high, 5), toX, tick => lab.value(tick, spec.percent));
  const word = (text, x, y, attributes) => ['text', { x: lab.px(x), y: lab.px(y), 'font-size': 12, fill: faint, ...attributes }, text];
  const title = { x: 0, 'font-size': 14, 'font-weight': 600, fill: ink };
  const nodes = titled.map((text, i) => ['text', { ...title, y: 15 + 17 * i }, text]);
  nodes.push(['g', { transform: `translate(0 ${26 + over})` }, ...key.nodes]);
  for (const tick of ticks) {
    nodes.push(['line', { x1: lab.px(toX(tick)), x2: lab.px(toX(tick)), y1: top, y2: bottom, stroke: line }]);
    nodes.push(word(lab.value(tick, spec.percent), toX(tick), bottom + 17, { 'text-anchor': 'middle' }));
  }
  if (spec.rule) {
    const at = lab.px(toX(spec.rule.at));
    nodes.push(['line', { x1: at, x2: at, y1: top, y2: bottom, stroke: faint, 'stroke-width': 1.5, 'stroke-dasharray': '3 3' }]);
    const isRight = toX(spec.rule.at) + lab.textWidth(spec.rule.label, 11) > width - 8;
    nodes.push(word(spec.rule.label, toX(spec.rule.at), top - 5, { 'font-size': 11, 'text-anchor': isRight ? 'end' : 'middle' }));
  }
  spec.rows.forEach((_, row) => {
    const y = top + row * tall;
    names[row].forEach((text, i) => {
      const down = y + tall / 2 + 5 + 15 * (i - (names[row].length - 1) / 2);
      nodes.push(['text', { x: 0, y: lab.px(down), 'font-size': 13, fill: ink }, text]);
    });
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
    if (!alone) continue;
    const said = lab.value(value, spec.percent);
    const [beside, wide] = [toX(value) + 9, lab.textWidth(said, 11)];
    // On the other side of its form where the rule would run through it.
    const crossed = spec.rule && toX(spec.rule.at) > beside - 3 && toX(spec.rule.at) < beside + wide + 3;
    nodes.push(...lab.plated(said, crossed ? toX(value) - 9 - wide : beside, y + 4, 11, theme, { fill: ink }));
  }
  return { width, height: bottom + 28, nodes, plots: [] };
};

const SQUARE = [14, 30]; // px, the least and the most a head takes
const MENU = 120; // px at the right, where the menu stands

/** Each head as a square of one colour, layers down, a picture for each model; of one head a layer, layers across. */
lab.squaresChart = (spec, width, theme) => {
  const { ink, faint, line } = theme;
  const most = spec.most || 1;
  const across = Math.max(1, Math.min(spec.panels.length, Math.floor((width + 24) / 185)));
  const each = (width - 24 * (across - 1)) / across;
  const nodes = [];
  const reach = (across - 1) * (each + 24) + lab.textWidth(spec.panels[across - 1].title, 13);
  let [y, tallest] = [reach > width - MENU ? 22 : 0, 0];
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
    const single = values[0].length === 1;
    const shown = single ? [values.map(([value]) => value)] : values;
    const side = Math.max(SQUARE[0], Math.min(SQUARE[1], Math.floor((each - 26) / shown[0].length)));
    const [left, top] = [x + 22, y + 42];
    shown[0].forEach((_, column) => nodes.push(word(String(column + 1), left + (column + 0.5) * side, top - 6, { 'text-anchor': 'middle' })));
    shown.forEach((row, down) => {
      if (!single) nodes.push(word(String(down + 1), left - 6, top + (down + 0.5) * side + 4, { 'text-anchor': 'end' }));
      row.forEach((value, column) => {
        const [layer, head] = single ? [column, 0] : [down, column];
        const fill = lab.hex(theme.dark, 'sequential', Math.round(255 * Math.min(1, Math.max(0, value / most))));
        const place = { x: lab.px(left + column * side), y: lab.px(top + down * side), width: side, height: side, fill, stroke: line };
        const told = { title, layer: layer + 1, head: head + 1, value: `${lab.value(value)} ${spec.unit}` };
        const words = spec.pairs ? lab._('{title}, heads {layer} and {head}: {value}', told) : lab._('{title}, layer {layer}, head {head}: {value}', told);
        nodes.push(['rect', place, ['title', {}, words]]);
      });
    });
    tallest = Math.max(tallest, 42 + side * shown.length);
  });
  const ticks = [0, 0.25, 0.5, 0.75, 1].map(at => ({ at, label: lab.value(Number((at * most).toPrecision(3))) }));
  const bar = { x: 22, y: y + tallest + 16, width: Math.min(260, width - 90), scale: 'sequential', ticks, after: spec.unit, theme };
  const how = spec.pairs ? lab._('Rows and columns are the heads of a layer.') : lab._('Layers down, heads across; where a layer has one head, layers across.');
  const about = lab.wrapped(how, width, 12);
  about.forEach((text, i) => nodes.push(['text', { x: 0, y: lab.px(bar.y + 46 + 17 * i), 'font-size': 12, fill: faint }, text]));
  return { width, height: bar.y + 36 + 17 * about.length, nodes: [...nodes, ...lab.colourBar(bar)], plots: [] };
};

/** {width, height, nodes, plots} of any chart. `every`: each point can be pointed at, as files want it. */
lab.chartPicture = (spec, width, theme, every = false) => {
  const forms = {
    lines: lab.linesChart,
    dots: lab.dotsChart,
    squares: lab.squaresChart,
    groups: lab.groupsChart,
    gates: lab.gatesChart,
    points: lab.pointsChart,
  };
  return forms[spec.form](spec, width, theme, every);
};

/** Its numbers: {columns, rows}. */
lab.chartTable = spec => {
  if (spec.form === 'groups') return lab.groupsTable(spec);
  if (spec.form === 'gates') return lab.gatesTable(spec);
  if (spec.form === 'points') return lab.pointsTable(spec);
  if (spec.form === 'squares')
    return {
      columns: ['picture', ...(spec.pairs ? ['head', 'other'] : ['layer', 'head']), spec.unit],
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
