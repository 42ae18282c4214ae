// A step of a lesson. The elements stay from step to step; the focus goes to the new step's heading.

const make = lab.make;

function create(state) {
  const part = (tag, className, attributes) => make(tag, { className, attributes });
  const button = (className, text, act) => make('button', { type: 'button', className, textContent: text, onclick: act });
  const title = part('h2', 'title');
  const count = part('span', 'count');
  const teach = button('teach', '', () => state.send({ type: 'teach', on: !state.data.teach }));
  const leave = button('leave', lab._('Leave the lesson'), () => state.send({ type: 'leave' }));
  const stops = part('ol', 'stops', { 'aria-label': lab._('Steps') });
  const heading = make('h3', { tabIndex: -1 });
  const text = part('p', 'text');
  const tick = part('span', 'tick');
  const what = part('span', 'what');
  const task = make('p', { className: 'task' }, tick, what);
  const ask = part('p', 'ask', { id: 'ask' });
  const choices = part('div', 'choices', { role: 'group', 'aria-labelledby': 'ask' });
  const show = button('show', lab._('Show the answer'), () => answer(state, null));
  const because = part('p', 'because', { role: 'status' });
  const question = make('div', { className: 'question' }, ask, choices, because);
  const said = part('p', 'said', { role: 'status' });
  const [back, forth] = [
    button('back', lab._('Back'), () => go(state, 'back')),
    button('forth', '', () => go(state, 'forth')),
  ];
  const keys = (element, name) => {
    element.title = name;
    element.setAttribute('aria-keyshortcuts', name);
  };
  keys(back, 'Shift+PageUp');
  keys(forth, 'Shift+PageDown');
  state.root.append(
    make(
      'section',
      { className: 'lesson', attributes: { 'aria-labelledby': 'lesson' } },
      make('header', {}, title, count, teach, leave),
      stops,
      make('div', { className: 'told' }, heading, text, task),
      question,
      make('footer', {}, back, show, said, forth),
    ),
  );
  title.id = 'lesson';
  stops.addEventListener('click', event => {
    const link = event.target.closest('a');
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    open(state, link.dataset.to);
  });
  choices.addEventListener('click', event => {
    const chosen = event.target.closest('button');
    if (chosen) answer(state, Number(chosen.dataset.index));
  });
  state.root.keys?.abort(); // as the toolbar's: another version of the library must be able to end it
  state.root.keys = new AbortController();
  document.addEventListener('keydown', event => press(state, event), { signal: state.root.keys.signal });
  return { title, count, teach, stops, heading, text, task, tick, what, ask, choices, show, because, question, back,
    forth, said, place: null };
}

const open = (state, to) => {
  state.taken = true;
  state.send({ type: 'step', to });
};

/** One step on, counted from one that is still on its way: no quick second press is lost. */
function go(state, way) {
  const { stops } = state.data;
  const on = stops.findIndex(({ to }) => to === state.waiting().findLast(({ type }) => type === 'step')?.to);
  const to = on < 0 ? state.data[way] : stops[on + (way === 'forth' ? 1 : -1)]?.to;
  if (to) open(state, to);
}

function answer(state, choice) {
  const { question } = state.data;
  if (!question || question.right !== null || lab.lessonAnswer(state.waiting())) return;
  state.send({ type: 'answer', choice });
  state.refresh();
}

function press(state, event) {
  if (!state.data || event.defaultPrevented) return; // an Escape that ended something smaller
  const path = event.composedPath();
  const isOwn = path.includes(state.root) || state.data.teach;
  const way = lab.lessonKey(event, isOwn);
  if (way) {
    event.preventDefault();
    go(state, way);
  } else if (event.key === 'Escape' && state.data.teach) {
    state.send({ type: 'teach', on: false });
  }
}

function update(state, data) {
  const { question, stops, place } = data;
  const index = stops.findIndex(({ to }) => to === place);
  lab.write(state.title, data.title);
  lab.write(state.count, `${index + 1} / ${stops.length}`);
  lab.write(state.teach, data.teach ? lab._('Small type') : lab._('Large type'));
  document.documentElement.toggleAttribute('data-teach', data.teach); // see assets/style.css
  showStops(state, stops, place);
  lab.write(state.heading, data.heading);
  lab.writeStarred(state.text, data.told);
  lab.writeStarred(state.what, data.task);
  state.task.classList.toggle('done', data.done);
  lab.write(state.tick, data.done ? '✓' : '');
  lab.write(state.said, data.done ? lab._('Done') : '');
  showQuestion(state, question, data.teach);
  lab.set(state.back, 'aria-disabled', !data.back); // not `disabled`, which loses the focus
  lab.set(state.forth, 'aria-disabled', !data.forth);
  lab.write(state.forth, data.forthTitle);
  state.forth.classList.toggle('ready', data.done);
  if (state.place !== null && state.place !== place && state.taken) {
    state.heading.focus({ preventScroll: true });
    state.root.scrollIntoView({ block: 'nearest' });
    state.taken = false;
  }
  state.place = place;
}

function showStops({ stops: list }, stops, place) {
  if (list.children.length !== stops.length)
    list.replaceChildren(...stops.map(() => make('li', {}, make('a'))));
  stops.forEach(({ to, title, done }, index) => {
    const link = list.children[index].firstChild;
    link.dataset.to = to;
    lab.set(link, 'href', lab.address({ lesson: to }));
    lab.write(link, done ? '✓' : String(index + 1));
    const name = { number: index + 1, title };
    lab.set(link, 'aria-label', done ? lab._('{number}. {title}, done', name) : lab._('{number}. {title}', name));
    link.title = `${index + 1}. ${title}`;
    link.classList.toggle('done', done);
    if (to === place) lab.set(link, 'aria-current', 'step');
    else link.removeAttribute('aria-current');
  });
}

const SIGNS = { right: '✓', wrong: '✗', chosen: '…' };

function showQuestion(state, question, teach) {
  state.question.hidden = !question;
  state.show.hidden = !teach || !question || question.right !== null;
  if (!question) return;
  lab.writeStarred(state.ask, question.ask);
  const marks = lab.choiceMarks(question, lab.lessonAnswer(state.waiting())?.choice);
  if (state.choices.children.length !== marks.length)
    state.choices.replaceChildren(
      ...marks.map((_, index) =>
        make(
          'button',
          { type: 'button', className: 'choice', dataset: { index } },
          make('span', { className: 'sign', attributes: { 'aria-hidden': true } }),
          make('span'),
        ),
      ),
    );
  marks.forEach(({ text, mark }, index) => {
    const choice = state.choices.children[index];
    choice.className = `choice ${mark}`;
    lab.write(choice.firstChild, SIGNS[mark] ?? '');
    lab.writeStarred(choice.lastChild, text);
    lab.set(choice, 'aria-pressed', index === (lab.lessonAnswer(state.waiting())?.choice ?? question.chosen));
    lab.set(choice, 'aria-disabled', question.right !== null);
  });
  lab.writeStarred(state.because, question.because);
}

lab.lesson = lab.component({
  create,
  update,
  destroy: ({ root }) => {
    root.keys.abort();
    document.documentElement.removeAttribute('data-teach');
  },
});
