// The settings of a training, the state of the selected head from the first step, and the buttons that train and stop.

import { pressedState, scopeName, selectedStates } from '../core/head_state.js';
import { _ } from '../core/texts.js';
import { makeButton as button, make, setAttribute, setText } from '../widgets/dom.js';
import { createMenu } from '../widgets/menu.js';

const STATES = { live: { constant: false, gate: 1 }, constant: { constant: true, gate: 1 }, pruned: { gate: 0 } };
const TESTS = {
  live: ({ constant, gate }) => !constant && gate > 0,
  constant: ({ constant, gate }) => constant && gate > 0,
  pruned: ({ gate }) => gate === 0,
};

/** Creates {element, heads, phone, show(data), close()}: the column, the line of the selected head, the bar of phones. */
export function createSettings(state, stage) {
  const note = () => make('p.note.muted');
  const set = (name, value) => stage.send({ type: 'set', name, value });
  const menu = field =>
    createMenu({
      text: '',
      className: 'control nowrap',
      entries: () =>
        state.data.choices[field].map(({ name, title, line }) => ({
          text: title,
          note: line,
          checked: name === state.data.recipe[field],
          act: () => set(field, name),
        })),
    });
  const menus = { task: menu('task'), attention: menu('attention') };
  const lines = { task: note(), attention: note() };
  const numbers = { layers: _('Layers'), heads: _('Heads'), seed: _('Seed') };
  const inputs = Object.keys(numbers).map(name => {
    const input = make('input.input', { type: 'number', name, min: name === 'seed' ? 0 : 1 });
    input.onchange = () => input.reportValidity() && input.value && set(name, Number(input.value));
    return input;
  });
  const go = () => stage.send({ type: state.data.active ? 'stop' : 'train' });
  const [train, press] = [button('button primary', '', go), button('button primary', '', go)];
  const lab = button('button', _('Open in the lab'), () => stage.send({ type: 'lab' }));
  const [about, remark] = [note(), note()];
  const element = make(
    'section.settings',
    { 'aria-label': _('Settings of the training') },
    button('link', _('← All tasks and types'), () => stage.send({ type: 'table' })),
    make('h1.serif', { textContent: _('Watch it learn') }),
    make('div.setting.flex', _('Task'), menus.task.element),
    lines.task,
    make('div.setting.flex', _('Attention'), menus.attention.element),
    lines.attention,
    make('div.numbers.flex.fine', ...inputs.map(input => make('label', numbers[input.name], input))),
    make('div.go.wrap', train, lab),
    about,
  );
  const names = { live: _('Live'), constant: _('Constant'), pruned: _('Pruned') };
  const states = Object.keys(names).map(name => button(name, names[name], () => stage.change(STATES[name])));
  const again = button('button small', _('Train again with it constant'), () => {
    stage.change(STATES.constant);
    stage.send({ type: 'train' });
  });
  const title = make('b');
  const group = { role: 'group', 'aria-label': _('State from the first step') };
  const segment = make('div.segment.small.grid', { ...group }, ...states);
  const said = make('span.said');
  return {
    element,
    heads: make('div.heads.wrap', title, segment, again, remark),
    phone: make('div.phone-bar.flex.nowrap', said, press),
    close: () => Object.values(menus).forEach(each => each.close()),
    show(data) {
      for (const field of ['task', 'attention']) {
        const chosen = data.choices[field].find(({ name }) => name === data.recipe[field]);
        menus[field].write(chosen.title);
        setText(lines[field], chosen.more);
      }
      for (const input of inputs) {
        input.max = data.most[input.name];
        if (input.getRootNode().activeElement !== input) input.value = data.recipe[input.name];
      }
      for (const each of [train, press]) {
        setText(each, data.button);
        each.disabled = !data.may_train;
      }
      lab.hidden = !data.has_model;
      setText(about, data.about);
      setText(title, _('{name}, from the first step:', { name: scopeName(stage.view.selection) }));
      const heads = selectedStates(stage.view);
      for (const each of states) setAttribute(each, 'aria-pressed', pressedState(heads, TESTS[each.className]));
      again.hidden = !data.complete || !data.may_train || !heads.every(TESTS.live);
      const some = stage.view.heads.self.flat().some(TESTS.constant);
      setText(remark, some ? _('A constant head looks evenly at all visible words.') : '');
      said.replaceChildren(make('bdi.serif.strong', stage.data.answer.rows[0].label), stage.data.short);
    },
  };
}
