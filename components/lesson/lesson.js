// Displays a step of a lesson. Elements are reused for the next step; the focus moves to the new step's heading.

import { choiceMarks, lessonAnswer, lessonKey, taskText } from '../core/lesson_text.js';
import { _, stateQuery } from '../core/texts.js';
import { defineComponent } from '../runtime/component.js';
import { isTouch, make, setAttribute, setStarredText, setText } from '../widgets/dom.js';

function create(state) {
  const part = (tag, className, attributes) => make(tag, { className, attributes });
  const button = (className, text, act) =>
    make('button', { type: 'button', className, textContent: text, onclick: act });
  const title = part('h2', 'title');
  const count = part('span', 'count');
  const teach = button('teach', '', () => state.send({ type: 'teach', on: !state.data.teach }));
  const leave = button('leave', _('Leave the lesson'), () => state.send({ type: 'leave' }));
  const stepList = part('ol', 'stops', { 'aria-label': _('Steps') });
  const heading = make('h3', { tabIndex: -1 });
  const text = part('p', 'text', { id: 'text' });
  const fold = button('fold', '', () => {
    state.unfolded = state.text.hidden ? state.place : null;
    fit(state);
  });
  setAttribute(fold, 'aria-controls', 'text');
  setAttribute(fold, 'aria-label', _('Explanation'));
  fold.title = _('Explanation');
  const tick = part('span', 'tick');
  const what = part('span', 'what');
  const counter = part('strong', 'counter', { role: 'status' });
  const task = make('p', { className: 'task' }, tick, make('span', {}, what, ' ', counter));
  const pageButton = button('goes', '', () => state.send({ type: 'page', page: state.data.pageButton.page }));
  const ask = part('p', 'ask', { id: 'ask' });
  const choices = part('div', 'choices', { role: 'group', 'aria-labelledby': 'ask' });
  const show = button('show', _('Show the answer'), () => answer(state, null));
  const because = part('p', 'because', { role: 'status' });
  const question = make('div', { className: 'question' }, ask, choices, because);
  const status = part('p', 'status', { role: 'status' });
  const [back, forth] = [
    button('back', _('Back'), () => go(state, 'back')),
    button('forth', '', () => go(state, 'forth')),
  ];
  const keys = (element, name) => {
    element.title = name;
    element.setAttribute('aria-keyshortcuts', name);
  };
  keys(back, 'Shift+PageUp');
  keys(forth, 'Shift+PageDown');
  const card = make(
    'section',
    { className: 'lesson', attributes: { 'aria-labelledby': 'lesson' } },
    make('header', {}, title, count, teach, leave),
    stepList,
    make('div', { className: 'instruction' }, heading, fold, text),
    question,
    make('div', { className: 'doing' }, task, pageButton),
    make('footer', {}, back, show, status, forth),
  );
  state.root.append(card);
  title.id = 'lesson';
  stepList.addEventListener('click', event => {
    const link = event.target.closest('a');
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    open(state, link.dataset.to);
  });
  choices.addEventListener('click', event => {
    const chosen = event.target.closest('button');
    if (chosen) answer(state, Number(chosen.dataset.index));
  });
  state.root.keys?.abort(); // the listener is stored on the element, so that another version of the library can end it
  state.root.keys = new AbortController();
  document.addEventListener('keydown', event => press(state, event), { signal: state.root.keys.signal });
  window.addEventListener('resize', () => state.data && refit(state), { signal: state.root.keys.signal });
  return {
    card,
    title,
    count,
    teach,
    stepList,
    heading,
    fold,
    text,
    unfolded: null,
    task,
    tick,
    what,
    counter,
    pageButton,
    ask,
    choices,
    show,
    because,
    question,
    back,
    forth,
    status,
    place: null,
  };
}

const open = (state, to) => {
  state.taken = true;
  state.send({ type: 'step', to });
};

/** Opens the next or previous step, counted from the last waiting step event, so that quick presses are not lost. */
function go(state, way) {
  const { steps } = state.data;
  const on = steps.findIndex(({ to }) => to === state.waiting().findLast(({ type }) => type === 'step')?.to);
  const to = on < 0 ? state.data[way] : steps[on + (way === 'forth' ? 1 : -1)]?.to;
  if (to) open(state, to);
}

function answer(state, choice) {
  const { question } = state.data;
  if (!question || question.right !== null || lessonAnswer(state.waiting())) return;
  state.send({ type: 'answer', choice });
  state.refresh();
}

function press(state, event) {
  if (!state.data || event.defaultPrevented) return; // Escape has already closed a menu or a tip
  const path = event.composedPath();
  const isOwn = path.includes(state.root) || state.data.teach;
  const way = lessonKey(event, isOwn);
  if (way) {
    event.preventDefault();
    go(state, way);
  } else if (event.key === 'Escape' && state.data.teach) {
    state.send({ type: 'teach', on: false });
  }
}

function update(state, data) {
  const { question, steps, place } = data;
  const index = steps.findIndex(({ to }) => to === place);
  setText(state.title, data.title);
  setText(state.count, `${index + 1} / ${steps.length}`);
  setText(state.teach, data.teach ? _('Small type') : _('Large type'));
  // assets/style.css uses larger type for a page with this attribute
  document.documentElement.toggleAttribute('data-teach', data.teach);
  showSteps(state, steps, place);
  setText(state.heading, data.heading);
  setStarredText(state.text, data.text);
  setStarredText(state.what, taskText(data.task, !isTouch()));
  state.task.classList.toggle('done', data.done);
  setText(state.counter, data.count ? _('{n} of {wanted} heads', { n: data.count[0], wanted: data.count[1] }) : '');
  state.pageButton.hidden = !data.pageButton;
  if (data.pageButton) setText(state.pageButton, _('Open {page}', { page: data.pageButton.title }));
  setText(state.tick, data.done ? '✓' : '');
  setText(state.status, data.done ? _('Done') : '');
  const focused = focusedIn(state);
  const isNew = showQuestion(state, question, data.teach);
  // aria-disabled is set instead of `disabled`, because a disabled button would lose the focus
  setAttribute(state.back, 'aria-disabled', !data.back);
  setAttribute(state.forth, 'aria-disabled', !data.forth);
  setText(state.forth, data.forthTitle);
  state.forth.classList.toggle('ready', data.done);
  if (state.place !== null && state.place !== place && state.taken) {
    state.heading.focus({ preventScroll: true });
    state.root.scrollIntoView({ block: 'nearest' });
    state.taken = false;
  }
  state.place = place;
  fit(state);
  if (isNew) state.because.scrollIntoView({ block: 'nearest' }); // in large type the card may scroll
  keepFocus(state, focused);
}

const focusedIn = state => state.root.getRootNode().activeElement;

/** Moves the focus to the step's heading if the element that had the focus is hidden now. */
function keepFocus({ heading }, focused) {
  if (focused && !focused.checkVisibility()) heading.focus({ preventScroll: true });
}

/**
 * In large type, makes room until the card needs no scrolling: without the list of steps and the wrong choices that nobody
 * has chosen; then without the task while the class has to guess first, and when it is done; then with a folded text.
 */
function fit(state) {
  const { card, data, text, fold, unfolded, place } = state;
  const { question, teach, guesses, done } = data;
  card.classList.remove('tight', 'waits');
  showText(state);
  const isOver = () => card.scrollHeight > card.clientHeight + 1;
  if (!teach || !isOver()) return;
  card.classList.add('tight');
  const isOpen = Boolean(question) && question.chosen === null && question.right === null;
  if (isOver() && (isOpen ? guesses : done)) card.classList.add('waits');
  if (!isOpen || !isOver()) return;
  text.hidden = unfolded !== place;
  fold.hidden = false;
  setAttribute(fold, 'aria-expanded', !text.hidden);
}

function refit(state) {
  const focused = focusedIn(state);
  fit(state);
  keepFocus(state, focused);
}

/** In large type the text is folded once the question is answered: question, task and result need its room. */
function showText({ data, text, fold, unfolded }) {
  const { question, teach, place } = data;
  const canFold = teach && Boolean(question) && (question.chosen !== null || question.right !== null);
  fold.hidden = !canFold;
  text.hidden = canFold && unfolded !== place;
  setAttribute(fold, 'aria-expanded', !text.hidden);
}

function showSteps({ stepList: list }, steps, place) {
  if (list.children.length !== steps.length) list.replaceChildren(...steps.map(() => make('li', {}, make('a'))));
  steps.forEach(({ to, title, done }, index) => {
    const link = list.children[index].firstChild;
    link.dataset.to = to;
    setAttribute(link, 'href', stateQuery({ lesson: to }));
    setText(link, done ? '✓' : String(index + 1));
    const name = { number: index + 1, title };
    setAttribute(link, 'aria-label', done ? _('{number}. {title}, done', name) : _('{number}. {title}', name));
    link.title = `${index + 1}. ${title}`;
    link.classList.toggle('done', done);
    if (to === place) setAttribute(link, 'aria-current', 'step');
    else link.removeAttribute('aria-current');
  });
}

const SIGNS = { right: '✓', wrong: '✗', chosen: '…' };

/** Shows the question. Returns true for a new result in large type, because the page may have to scroll to it. */
function showQuestion(state, question, teach) {
  state.question.hidden = !question;
  state.show.hidden = !teach || !question || question.right !== null;
  if (!question) return false;
  setStarredText(state.ask, question.ask);
  const marks = choiceMarks(question, lessonAnswer(state.waiting())?.choice);
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
    setText(choice.firstChild, SIGNS[mark] ?? '');
    setStarredText(choice.lastChild, text);
    setAttribute(choice, 'aria-pressed', index === (lessonAnswer(state.waiting())?.choice ?? question.chosen));
    setAttribute(choice, 'aria-disabled', question.right !== null);
  });
  // before the result, a class needs no hint, and the task needs the room
  const isHint = question.right === null && !question.again;
  const shown = teach && isHint ? '' : question.because;
  const isNew = state.because.textContent !== shown.replaceAll('*', '');
  setStarredText(state.because, shown);
  return Boolean(teach && shown && isNew);
}

export const lesson = defineComponent({
  create,
  update,
  destroy: ({ root }) => {
    root.keys.abort();
    document.documentElement.removeAttribute('data-teach');
  },
});
