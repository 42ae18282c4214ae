// The slider over the checkpoints of a model's training; its last place is the released model.

import { _ } from '../core/texts.js';
import { make, setAttribute, setText } from '../widgets/dom.js';

/** Creates {element, show(data)}. */
export function createSteps(state) {
  const slider = make('input', { type: 'range', min: 0, 'aria-label': _('Training step') });
  slider.oninput = () => {
    state.send({ type: 'model', name: state.data.steps[slider.value].name });
    state.refresh();
  };
  const [name, score, marks] = [make('b'), make('span'), make('div.marks.grid.fine.nowrap', { ariaHidden: 'true' })];
  const element = make('section.fader.checkpoints', name, ' ', score, slider, marks);
  return {
    element,
    show({ steps = [], model }) {
      if (model.name.includes('@')) state.training ??= true;
      element.hidden = !steps.length || !state.training;
      const chosen = state.waiting().findLast(({ type }) => type === 'model')?.name ?? model.name;
      const index = steps.findIndex(step => step.name === chosen);
      if (index < 0) return;
      const last = steps.length - 1;
      const label = at => (at === last ? _('released') : `${steps[at].step}`);
      if (marks.children.length !== steps.length)
        marks.replaceChildren(...steps.map((_step, at) => make('span', { textContent: label(at) })));
      const { step, score: text } = steps[index];
      slider.max = last;
      if (Number(slider.value) !== index) slider.value = index;
      element.style.setProperty('--count', steps.length);
      const known = step === 1 ? _('Trained for 1 step:') : _('Trained for {n} steps:', { n: step });
      setText(name, index === last ? _('The released model, {n} steps of another training:', { n: step }) : known);
      setText(score, text);
      setAttribute(slider, 'aria-valuetext', name.textContent);
    },
  };
}
