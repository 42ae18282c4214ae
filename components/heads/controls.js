// The controls below the grids: state and gate of what is selected; and, of the whole model, the scale of its scores.

// What the scores are multiplied by; of relu² / n, what n is.
const POLICIES = {
  trained: lab.N_('as trained'),
  sqrt: '1/√d',
  logn: 'log n',
  fixed: lab.N_('n as trained'),
  length: lab.N_('n = length'),
};

/** What the scores of all heads are multiplied by: {element, show(now, data)}. */
function scaleOf(state) {
  const note = lab.make('p', { className: 'note', attributes: { role: 'status' } });
  const element = lab.make('fieldset', { className: 'scale' });
  const radio = value => lab.make('input', { type: 'radio', name: 'scale', value });
  const radios = Object.keys(POLICIES).map(radio);
  const base = lab.make('input', {
    type: 'number',
    min: 2,
    max: 9999,
    step: 1,
    attributes: { 'aria-label': lab._('Base length') },
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
  element.append(
    lab.make('legend', { textContent: lab._('Scale of all heads') }),
    ...radios.map(one => lab.make('label', {}, one, lab._(POLICIES[one.value]))),
    lab.make('label', { className: 'base' }, lab._('base'), base),
    note,
  );
  lab.tip(element, 'scale');
  lab.tip(base.parentElement, 'base');

  return {
    element,
    show(now, { policies, scale }) {
      element.hidden = policies.length < 2;
      for (const one of radios) {
        one.checked = now.scale.policy === one.value;
        one.parentElement.hidden = !policies.includes(one.value);
      }
      base.parentElement.hidden = now.scale.policy !== 'logn';
      // What Python says of a scale is about the one that it has answered.
      const answered = now.scale.policy === scale.policy && now.scale.base === scale.base;
      lab.write(note, (answered && scale.note) || '');
      // What is being typed stays.
      if (state.root.getRootNode().activeElement !== base || base.value === '') base.value = now.scale.base;
    },
  };
}

/** {element, show(now, data)}; `now` as presentState makes it. */
lab.headControls = (state, hint) => {
  const send = change => {
    state.send({ type: 'heads', ...state.now.selection, ...change });
    state.refresh();
  };
  const scope = lab.make('strong', { className: 'scope' });
  const button = text => lab.make('button', { type: 'button', textContent: text });
  const [live, constant, prune] = [button(lab._('Live')), button(lab._('Constant')), button(lab._('Prune'))];
  const isPressed = its => its.getAttribute('aria-pressed') === 'true';
  const changes = [
    [live, () => ({ constant: false, gate: 1 })],
    [constant, () => ({ constant: !isPressed(constant) })],
    [prune, () => ({ gate: isPressed(prune) ? 1 : 0 })],
  ];
  for (const [its, change] of changes)
    its.onclick = () => {
      // Not `disabled`, which would take it from the keyboard, and its reason with it.
      if (its.getAttribute('aria-disabled') !== 'true') send(change());
    };

  const label = { 'aria-label': lab._('Gate') };
  const slider = lab.make('input', { type: 'range', min: 0, max: 1, step: 0.05, attributes: label });
  const number = lab.make('output', { className: 'number' });
  slider.oninput = () => send({ gate: Number(slider.value), drag: true });
  slider.onchange = () => send({ gate: Number(slider.value), drag: false });
  const gate = lab.make('label', { className: 'gate' }, lab._('Gate'), slider, number);

  const scale = scaleOf(state);

  for (const [element, term] of [
    [live, 'live'],
    [constant, 'constant'],
    [prune, 'prune'],
    [gate, 'gate'],
  ])
    lab.tip(element, term);

  const buttons = lab.make(
    'div',
    { className: 'buttons', attributes: { role: 'group', 'aria-label': lab._('State of the selected heads') } },
    live,
    constant,
    prune,
  );
  const element = lab.make(
    'div',
    { className: 'controls' },
    scope,
    lab.make('div', { className: 'line' }, buttons, gate),
    hint,
    scale.element,
  );

  /** Why the three buttons cannot be pressed, if they cannot. */
  const showReasons = ({ can_constant: can, title }, several, states) => {
    const closed = states.length ? '' : lab._('Learned gates have closed this in training: nothing can be changed here');
    const missing = can
      ? ''
      : several
        ? lab._('This model has no constant matrices of {title}', { title })
        : lab._('This model has no constant matrices');
    for (const [its, reason, term] of [
      [live, closed, 'live'],
      [constant, closed || missing, 'constant'],
      [prune, closed, 'prune'],
    ]) {
      lab.set(its, 'aria-disabled', Boolean(reason));
      if (its.title !== reason) its.title = reason;
      lab.set(its, 'aria-description', reason || lab.meaning(term));
    }
    slider.disabled = Boolean(closed);
  };

  return {
    element,
    show(now, data) {
      const { grids } = data;
      const several = grids.length > 1;
      const grid = grids.find(({ kind }) => kind === now.selection.kind);
      const states = lab.chosenStates(now);
      lab.write(scope, lab.scopeName(now.selection, several ? grid.title : ''));
      showReasons(grid, several, states);
      lab.set(live, 'aria-pressed', lab.pressed(states, s => !s.constant && s.gate === 1));
      lab.set(constant, 'aria-pressed', lab.pressed(states, s => s.constant));
      lab.set(prune, 'aria-pressed', states.length ? lab.pressed(states, s => s.gate === 0) : 'true');
      const chosen = now.heads[now.selection.kind][now.selection.layer][now.selection.head];
      const value = chosen.closed ? (states[0]?.gate ?? 0) : chosen.gate;
      const mixed = states.some(s => s.gate !== value);
      if (Number(slider.value) !== value) slider.value = value;
      const text = mixed ? lab._('mixed') : value.toFixed(2);
      lab.set(slider, 'aria-valuetext', text);
      lab.write(number, text);
      scale.show(now, data);
    },
  };
};
