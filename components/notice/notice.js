// The line under the text box. Both live regions always exist, because screen readers announce only changes in existing
// regions.

import { visibleText } from '../core/format.js';
import { defineComponent } from '../runtime/component.js';
import { make, setAttribute, setText } from '../widgets/dom.js';

function create(state) {
  const { root } = state;
  const status = make('div', { className: 'status', attributes: { role: 'status' } });
  const alert = make('div', { className: 'alert', attributes: { role: 'alert' } });
  const actions = make('div', { className: 'actions' });
  actions.addEventListener('click', event => {
    const button = event.target.closest('button');
    if (button) state.send({ type: 'act', name: button.name });
  });
  root.append(alert, status, actions);
  return { status, alert, actions, content: '' };
}

function update(state, { status, messages, excerpt, problem, actions }) {
  state.root.classList.toggle('quiet', !problem && !messages.length && !actions.length);
  showActions(state.actions, actions);
  const content = JSON.stringify([status, messages, excerpt, problem]);
  if (state.content === content) return;
  state.content = content;
  setText(state.status, [status, ...(problem ? [] : messages)].filter(Boolean).join(' · '));
  state.alert.replaceChildren(...(problem ? [sign(), body(messages, excerpt)] : []));
}

/** Shows one button per action; elements are reused, so that the focus stays on a switch. */
function showActions(element, actions) {
  const names = actions.map(({ name }) => name).join(' ');
  if (element.dataset.names !== names) {
    element.dataset.names = names;
    element.replaceChildren(...actions.map(({ name }) => make('button', { type: 'button', name })));
  }
  actions.forEach(({ label, pressed, tip }, index) => {
    const button = element.children[index];
    setText(button, label);
    setAttribute(button, 'title', tip ?? '');
    if (pressed !== undefined) setAttribute(button, 'aria-pressed', pressed);
  });
}

const sign = () => make('span', { className: 'sign', textContent: '!', attributes: { 'aria-hidden': true } });

function body(messages, excerpt) {
  const text = make('div', { className: 'body' }, ...messages.map(message => make('p', { textContent: message })));
  if (excerpt?.some(part => part.trim())) {
    const [before, place, after] = excerpt;
    text.append(
      make(
        'bdi',
        { className: 'excerpt' },
        visibleText(before),
        make('mark', { textContent: visibleText(place) || '\u2003' }),
        visibleText(after),
      ),
    );
  }
  return text;
}

export const notice = defineComponent({ create, update });
