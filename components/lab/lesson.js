// The step of a lesson beside the picture: text, question, task with a tick, and the way to the next step.

import { choiceMarks, lessonAnswer, lessonKey, taskText } from '../core/lesson_text.js';
import { _, stateQuery } from '../core/texts.js';
import { makeButton as button, isTouch, make, onLink, setAttribute, setStarredText, setText } from '../widgets/dom.js';

const SIGNS = { right: '✓', wrong: '✗', chosen: '…' };

/** Answers the question of the step; null shows the right answer. */
export function guess(state, choice) {
  const { question } = state.data.lesson ?? {};
  if (!question || question.right !== null || lessonAnswer(state.waiting())) return;
  state.send({ type: 'answer', choice });
  state.refresh();
}

/** Creates {element, show(data), close()}; `data.lesson` is the step, as app/panels/lesson.py describes it. */
export function createLesson(state) {
  const where = make('p.where', { id: 'lesson' });
  const stops = make('ol.stops.flex', { 'aria-label': _('Steps') });
  const heading = make('h1.serif', { tabIndex: -1 });
  const text = make('p.text');
  const ask = make('p.ask.strong', { id: 'ask' });
  const choices = make('div.choices.grid', { role: 'group', 'aria-labelledby': 'ask' });
  const because = make('p.because', { role: 'status' });
  const tick = make('span.check', { 'aria-hidden': true });
  const what = make('span.what');
  const counter = make('strong.counter.nowrap', { role: 'status' });
  const task = make('p.task.grid', tick, make('span', what, ' ', counter));
  const status = make('span.spoken', { role: 'status' });
  const back = button('button back', _('Back'), () => go('back'));
  const forth = button('button forth', '', () => go('forth'));
  const teach = button('link', '', () => state.send({ type: 'teach', on: !state.data.large }));
  const leave = button('link', _('Leave'), () => state.send({ type: 'leave' }));
  setAttribute(leave, 'aria-label', _('Leave the lesson'));
  const shortcut = (element, keys) => {
    element.title = keys;
    setAttribute(element, 'aria-keyshortcuts', keys);
  };
  shortcut(back, 'Shift+PageUp');
  shortcut(forth, 'Shift+PageDown');
  const element = make(
    'section.lesson.stack',
    { hidden: true, 'aria-labelledby': 'lesson' },
    make('header.wrap.muted', where, teach),
    stops,
    heading,
    text,
    make('div.question', ask, choices),
    task,
    because,
    make('footer.flex', back, forth, status, leave),
  );
  let place = null; // the displayed step
  let isTaken = false; // the visitor opened the next step in the panel, so the focus follows

  const open = to => {
    isTaken = true;
    state.send({ type: 'step', to });
  };
  /** Opens the next or previous step, counted from the last waiting step event, so that quick presses are not lost. */
  const go = way => {
    const { steps } = state.data.lesson;
    const on = steps.findIndex(({ to }) => to === state.waiting().findLast(({ type }) => type === 'step')?.to);
    const to = on < 0 ? state.data.lesson[way] : steps[on + (way === 'forth' ? 1 : -1)]?.to;
    if (to) open(to);
  };
  onLink(stops, link => open(link.dataset.to));
  choices.addEventListener('click', event => {
    const chosen = event.target.closest('button');
    if (chosen) guess(state, Number(chosen.dataset.index));
  });
  const press = event => {
    const { data } = state;
    if (!data?.lesson || event.defaultPrevented) return; // Escape has already closed a menu or a tip
    const way = lessonKey(event, event.composedPath().includes(element) || data.large);
    if (way) {
      event.preventDefault();
      go(way);
    } else if (event.key === 'Escape' && data.large) {
      state.send({ type: 'teach', on: false });
    }
  };
  document.addEventListener('keydown', press);

  const showSteps = steps => {
    if (stops.children.length !== steps.length) stops.replaceChildren(...steps.map(() => make('li', make('a'))));
    steps.forEach(({ to, title, done }, index) => {
      const link = stops.children[index].firstChild;
      link.dataset.to = to;
      setAttribute(link, 'href', stateQuery({ lesson: to }));
      const name = { number: index + 1, title };
      setAttribute(link, 'aria-label', done ? _('{number}. {title}, done', name) : _('{number}. {title}', name));
      link.title = `${index + 1}. ${title}`;
      link.classList.toggle('done', done);
      if (to === place) setAttribute(link, 'aria-current', 'step');
      else link.removeAttribute('aria-current');
    });
  };
  const showQuestion = question => {
    ask.parentElement.hidden = !question;
    setStarredText(because, question?.because ?? '');
    if (!question) return;
    setStarredText(ask, question.ask);
    const waiting = lessonAnswer(state.waiting())?.choice;
    const marks = choiceMarks(question, waiting);
    if (choices.children.length !== marks.length)
      choices.replaceChildren(
        ...marks.map((_mark, index) =>
          make('button', { dataset: { index } }, make('span.sign', { 'aria-hidden': true }), make('span')),
        ),
      );
    marks.forEach(({ text: name, mark }, index) => {
      const choice = choices.children[index];
      choice.className = `choice ${mark}`;
      setText(choice.firstChild, SIGNS[mark] ?? '');
      setStarredText(choice.lastChild, name);
      setAttribute(choice, 'aria-pressed', index === (waiting ?? question.chosen));
      setAttribute(choice, 'aria-disabled', question.right !== null);
    });
  };

  return {
    element,
    close: () => document.removeEventListener('keydown', press),
    show({ lesson, large }) {
      element.hidden = !lesson;
      if (!lesson) return;
      const isNew = place !== null && place !== lesson.place;
      place = lesson.place;
      const { number, title, steps, done, count } = lesson;
      const step = steps.findIndex(({ to }) => to === place) + 1;
      setText(
        where,
        _('Lesson {number} · {title}, step {step} of {steps}', { number, title, step, steps: steps.length }),
      );
      setText(teach, large ? _('Normal type') : _('Large type'));
      showSteps(steps);
      setText(heading, lesson.heading);
      setStarredText(text, lesson.text);
      showQuestion(lesson.question);
      setStarredText(what, taskText(lesson.task, !isTouch()));
      setText(counter, count ? _('{n} of {wanted} heads', { n: count[0], wanted: count[1] }) : '');
      task.classList.toggle('done', done);
      element.classList.toggle('answered', Boolean(lesson.question) && lesson.question.right !== null);
      setText(tick, done ? '✓' : '');
      setText(status, done ? _('Done') : '');
      // aria-disabled is set instead of `disabled`, because a disabled button would lose the focus
      setAttribute(back, 'aria-disabled', !lesson.back);
      setAttribute(forth, 'aria-disabled', !lesson.forth);
      setText(forth, lesson.forth_title);
      forth.classList.toggle('primary', done);
      if (isNew && isTaken) {
        heading.focus({ preventScroll: true });
        where.scrollIntoView({ block: 'nearest' });
        isTaken = false;
      }
    },
  };
}
