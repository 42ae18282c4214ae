// The line under the text box. Both live regions are always there: a screen reader announces what changes in a region
// that it knows, not one that appears with its text.

function create({ root }) {
  const status = lab.make('div', { className: 'status', attributes: { role: 'status' } });
  const alert = lab.make('div', { className: 'alert', attributes: { role: 'alert' } });
  root.append(alert, status);
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

function body(messages, excerpt) {
  const text = lab.make(
    'div',
    { className: 'body' },
    ...messages.map(message => lab.make('p', { textContent: message })),
  );
  if (excerpt?.some(part => part.trim())) {
    const [before, place, after] = excerpt;
    text.append(
      lab.make(
        'bdi',
        { className: 'excerpt' },
        lab.visible(before),
        lab.make('mark', { textContent: lab.visible(place) || '\u2003' }),
        lab.visible(after),
      ),
    );
  }
  return text;
}

lab.notice = lab.component({ create, update });
