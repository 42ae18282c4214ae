// The line under the text box. Both live regions always exist, because screen readers announce only changes in existing
// regions.

import { visibleText } from '../core/format.js';
import { defineComponent } from '../runtime/component.js';
import { make, setText } from '../widgets/dom.js';

function create({ root }) {
  const status = make('div', { className: 'status', attributes: { role: 'status' } });
  const alert = make('div', { className: 'alert', attributes: { role: 'alert' } });
  root.append(alert, status);
  return { status, alert, said: '' };
}

function update(state, { status, messages, excerpt, problem }) {
  const said = JSON.stringify([status, messages, excerpt, problem]);
  if (state.said === said) return;
  state.said = said;
  setText(state.status, [status, ...(problem ? [] : messages)].filter(Boolean).join(' · '));
  state.alert.replaceChildren(...(problem ? [sign(), body(messages, excerpt)] : []));
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
