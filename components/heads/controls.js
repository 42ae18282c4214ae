// The controls below the grid: state and gate of what is selected, and the scale of all heads.

const scopeName = ({ layer, head, scope }) =>
  ({
    head: `Layer ${layer + 1}, head ${head + 1}`,
    row: `Layer ${layer + 1}, all heads`,
    column: `Head ${head + 1}, all layers`,
    all: 'All heads',
  })[scope];

// What the scores are multiplied by; of relu² / n, what n is.
const POLICIES = {
  trained: 'as trained',
  sqrt: '1/√d',
  logn: 'log n',
  fixed: 'n as trained',
  length: 'n = length',
};

/** {element, show(now, data)}; `now` as heads.js makes it. */
lab.headControls = (state, hint) => {
  const send = change => {
    state.send({ type: 'heads', ...state.now.selection, ...change });
    state.refresh();
  };
  const scope = lab.make('strong', { className: 'scope' });
  const button = text => lab.make('button', { type: 'button', textContent: text });
  const [live, constant, prune] = [button('Live'), button('Constant'), button('Prune')];
  live.onclick = () => send({ constant: false, gate: 1 });
  constant.onclick = () => send({ constant: constant.getAttribute('aria-pressed') !== 'true' });
  prune.onclick = () => send({ gate: prune.getAttribute('aria-pressed') === 'true' ? 1 : 0 });

  const slider = lab.make('input', { type: 'range', min: 0, max: 1, step: 0.05, attributes: { 'aria-label': 'Gate' } });
  const number = lab.make('output', { className: 'number' });
  slider.oninput = () => send({ gate: Number(slider.value), drag: true });
  slider.onchange = () => send({ gate: Number(slider.value), drag: false });
  const gate = lab.make('label', { className: 'gate' }, 'Gate', slider, number);

  const scale = lab.make('fieldset', { className: 'scale' });
  const radio = value => lab.make('input', { type: 'radio', name: 'scale', value });
  const radios = Object.keys(POLICIES).map(radio);
  const base = lab.make('input', {
    type: 'number',
    min: 2,
    max: 9999,
    step: 1,
    attributes: { 'aria-label': 'Base length' },
  });
  const sendScale = policy => {
    const length = Number(base.value);
    const kept = Number.isInteger(length) && length >= 2 && length <= 9999;
    state.send({ type: 'scale', policy, base: kept ? length : state.now.scale.base });
    base.value = ''; // shows again what holds
    state.refresh();
  };
  for (const one of radios) one.onchange = () => sendScale(one.value);
  base.onchange = () => sendScale('logn');
  scale.append(
    lab.make('legend', { textContent: 'Scale:' }),
    ...radios.map(one => lab.make('label', {}, one, POLICIES[one.value])),
    lab.make('label', { className: 'base' }, 'base', base),
  );

  const element = lab.make(
    'div',
    { className: 'controls' },
    lab.make(
      'div',
      { className: 'line' },
      scope,
      lab.make(
        'div',
        {
          className: 'buttons',
          attributes: { role: 'group', 'aria-label': 'State of the selected heads' },
        },
        live,
        constant,
        prune,
      ),
    ),
    lab.make('div', { className: 'line' }, gate, scale),
    hint,
  );

  return {
    element,
    show(now, data) {
      const states = now.gates
        .flatMap((row, l) => row.map((g, h) => ({ l, h, gate: g, constant: now.constant[l][h] })))
        .filter(({ l, h }) => lab.inScope(now.selection, l, h));
      const press = (target, test) => {
        const count = states.filter(test).length;
        lab.set(target, 'aria-pressed', count === 0 ? 'false' : count === states.length ? 'true' : 'mixed');
      };
      lab.write(scope, scopeName(now.selection));
      press(live, s => !s.constant && s.gate === 1);
      press(constant, s => s.constant);
      press(prune, s => s.gate === 0);
      const value = now.gates[now.selection.layer]?.[now.selection.head] ?? 1;
      const mixed = states.some(s => s.gate !== value);
      if (Number(slider.value) !== value) slider.value = value;
      lab.set(slider, 'aria-valuetext', mixed ? 'mixed' : value.toFixed(2));
      lab.write(number, mixed ? 'mixed' : value.toFixed(2));
      scale.hidden = data.policies.length < 2;
      for (const one of radios) {
        one.checked = now.scale.policy === one.value;
        one.parentElement.hidden = !data.policies.includes(one.value);
      }
      base.parentElement.hidden = !data.policies.includes('logn');
      // What is being typed stays.
      if (state.root.getRootNode().activeElement !== base || base.value === '') base.value = now.scale.base;
    },
  };
};
