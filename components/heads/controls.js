// The controls below the grids: pattern and gate of the selected heads, and the score scale of the whole model.

import { pressedState, scopeName, selectedStates } from '../core/head_state.js';
import { _, N_ } from '../core/texts.js';
import { make, setAttribute, setText } from '../widgets/dom.js';
import { addTip, glossaryText } from '../widgets/tip.js';

// The name of each scale policy: a factor of the scores, or for relu² / n the value of n.
const POLICIES = {
  trained: N_('as trained'),
  sqrt: '1/√d',
  logn: N_('log n: sharper in longer texts'),
  fixed: N_('n = trained length'),
  length: N_('n = length'),
};

/** Creates the choice of the score scale of all heads: {element, show(now, data)}. */
function scaleOf(state) {
  const note = make('p', { className: 'note', attributes: { role: 'status' } });
  const element = make('fieldset', { className: 'scale' });
  const radio = value => make('input', { type: 'radio', name: 'scale', value });
  const radios = Object.keys(POLICIES).map(radio);
  const base = make('input', {
    type: 'number',
    min: 2,
    max: 9999,
    step: 1,
    attributes: { 'aria-label': _('Base length') },
  });
  const sendScale = policy => {
    const length = Number(base.value);
    const isValid = Number.isInteger(length) && length >= 2 && length <= 9999;
    state.send({ type: 'scale', policy, base: isValid ? length : state.now.scale.base });
    base.value = ''; // an invalid number is removed, and `show` writes the valid number
    state.refresh();
  };
  for (const one of radios) one.onchange = () => sendScale(one.value);
  base.onchange = () => sendScale('logn');
  element.append(
    make('legend', { textContent: _('Scale of all heads') }),
    ...radios.map(one => make('label', {}, one, _(POLICIES[one.value]))),
    make('label', { className: 'base' }, _('base'), base),
    note,
  );
  addTip(element, 'scale');
  addTip(radios.find(one => one.value === 'logn').parentElement, 'log-n');
  addTip(base.parentElement, 'base');

  return {
    element,
    show(now, { policies, scale }) {
      element.hidden = policies.length < 2;
      for (const one of radios) {
        one.checked = now.scale.policy === one.value;
        one.parentElement.hidden = !policies.includes(one.value);
      }
      base.parentElement.hidden = now.scale.policy !== 'logn';
      // Python's note is shown only if it describes the current scale.
      const answered = now.scale.policy === scale.policy && now.scale.base === scale.base;
      setText(note, (answered && scale.note) || '');
      // A value that is being typed is not overwritten.
      if (state.root.getRootNode().activeElement !== base || base.value === '') base.value = now.scale.base;
    },
  };
}

/** Creates the controls: {element, show(now, data)}; `now` is a result of pendingState. */
export function createHeadControls(state, hint) {
  const send = change => {
    state.send({ type: 'heads', ...state.now.selection, ...change });
    state.refresh();
  };
  const scope = make('strong', { className: 'scope' });
  const button = text => make('button', { type: 'button', textContent: text });
  const [live, constant, prune] = [button(_('Live')), button(_('Constant')), button(_('Prune'))];
  const isPressed = element => element.getAttribute('aria-pressed') === 'true';
  const changes = [
    [live, () => ({ constant: false, gate: 1 })],
    [constant, () => ({ constant: !isPressed(constant) })],
    [prune, () => ({ gate: isPressed(prune) ? 1 : 0 })],
  ];
  for (const [element, change] of changes)
    element.onclick = () => {
      // The button is not `disabled`, so that it can be reached by keyboard, and its description gives the reason.
      if (element.getAttribute('aria-disabled') !== 'true') send(change());
    };

  const label = { 'aria-label': _('Gate') };
  const slider = make('input', { type: 'range', min: 0, max: 1, step: 0.05, attributes: label });
  const number = make('output', { className: 'number' });
  slider.oninput = () => send({ gate: Number(slider.value), drag: true });
  slider.onchange = () => send({ gate: Number(slider.value), drag: false });
  const gate = make('label', { className: 'gate' }, _('Gate'), slider, number);

  const scale = scaleOf(state);

  for (const [element, term] of [
    [live, 'live'],
    [constant, 'constant'],
    [prune, 'prune'],
    [gate, 'gate'],
  ])
    addTip(element, term);

  const buttons = make(
    'div',
    { className: 'buttons', attributes: { role: 'group', 'aria-label': _('State of the selected heads') } },
    live,
    constant,
    prune,
  );
  const element = make(
    'div',
    { className: 'controls' },
    scope,
    make('div', { className: 'line' }, buttons, gate),
    hint,
    scale.element,
  );

  /** Shows the reason beside a button that has no effect. */
  const showReasons = ({ can_constant: can, title }, several, states) => {
    const closed = states.length ? '' : _('Learned gates pruned this in training: it cannot be changed');
    const missing = can
      ? ''
      : several
        ? _('This model has no constant matrices of {title}', { title })
        : _('This model has no constant matrices');
    for (const [element, reason, term] of [
      [live, closed, 'live'],
      [constant, closed || missing, 'constant'],
      [prune, closed, 'prune'],
    ]) {
      setAttribute(element, 'aria-disabled', Boolean(reason));
      if (element.title !== reason) element.title = reason;
      setAttribute(element, 'aria-description', reason || glossaryText(term));
    }
    slider.disabled = Boolean(closed);
  };

  return {
    element,
    show(now, data) {
      const { grids } = data;
      const several = grids.length > 1;
      const grid = grids.find(({ kind }) => kind === now.selection.kind);
      const states = selectedStates(now);
      setText(scope, scopeName(now.selection, several ? grid.title : ''));
      showReasons(grid, several, states);
      setAttribute(
        live,
        'aria-pressed',
        pressedState(states, s => !s.constant && !s.patched && s.gate === 1),
      );
      setAttribute(
        constant,
        'aria-pressed',
        pressedState(states, s => s.constant),
      );
      setAttribute(prune, 'aria-pressed', states.length ? pressedState(states, s => s.gate === 0) : 'true');
      const chosen = now.heads[now.selection.kind][now.selection.layer][now.selection.head];
      const value = chosen.closed ? (states[0]?.gate ?? 0) : chosen.gate;
      const mixed = states.some(s => s.gate !== value);
      if (Number(slider.value) !== value) slider.value = value;
      const text = mixed ? _('mixed') : value.toFixed(2);
      setAttribute(slider, 'aria-valuetext', text);
      setText(number, text);
      scale.show(now, data);
    },
  };
}
