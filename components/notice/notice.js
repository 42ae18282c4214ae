// The line under the text box. Both live regions are always there: a screen reader announces what changes in a region
// that it knows, not one that appears with its text.

function create({ root }) {
  const status = lab.make('div', { className: 'status', attributes: { role: 'status' } });
  const alert = lab.make('div', { className: 'alert', attributes: { role: 'alert' } });
  root.append(status, alert);
  return { status, alert, said: '' };
}

function update(state, { status, messages, excerpt, problem }) {
  const said = JSON.stringify([status, messages, excerpt, problem]);
  if (state.said === said) return;
  state.said = said;
  lab.write(state.status, [status, ...(problem ? [] : messages)].filter(Boolean).join(' · '));
  state.alert.replaceChildren(...(problem ? [sign(), body(messages, excerpt)] : []));
}

const sign = () => lab.make('span', { className: 'sign', textContent: '!', attributes: { 'aria-hidden': true } });

const SEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u00a0]/gu;

/** The text with what cannot be seen made visible, its blanks kept. */
const shown = text => text.replace(SEEN, c => lab.token(c));

function body(messages, excerpt) {
  const text = lab.make(
    'div',
    { className: 'body' },
    ...messages.flatMap(message => [lab.make('span', { textContent: message }), ' ']),
  );
  if (excerpt) {
    const [before, place, after] = excerpt;
    text.append(
      lab.make(
        'bdi',
        { className: 'excerpt' },
        shown(before),
        lab.make('mark', { textContent: shown(place) || '\u2003' }),
        shown(after),
      ),
    );
  }
  return text;
}

lab.notice = lab.component({ create, update });
