// The page Lessons: a card per lesson, with its steps and the button that opens the next one.

import { _, stateQuery } from '../core/texts.js';
import { defineComponent } from '../runtime/component.js';
import { linkedText, make, makeButton, onLink, setChildren, setText } from '../widgets/dom.js';

function create(state) {
  const problems = make('p.problems', { role: 'status' });
  const about = make('p');
  const cards = make('div.cards.grid');
  const teachers = make('a.button.small', {
    href: stateQuery({ page: 'teachers' }),
    textContent: _('For teachers: a class of 45 minutes'),
  });
  onLink(teachers, () => state.send({ type: 'teachers' }));
  const line = make('small', { textContent: _('Links, questions and answers to print.') });
  const start = makeButton('button small', _('Show the first page again'), () => state.send({ type: 'start' }));
  const title = make('h1.serif', { textContent: _('Lessons') });
  const parts = [problems, title, about, make('p.wrap', teachers, line), cards, start];
  state.root.append(make('main.place', ...parts));
  return { problems, about, cards };
}

function update(state, { problems, about, cards }) {
  setText(state.problems, problems.join(' '));
  setText(state.about, about);
  const card = ({ title, about: line, effort, source, button, to, next }) =>
    make(
      'article.stack.card',
      make('h2.serif', { textContent: title }),
      make('p', { textContent: line }),
      make('small', { textContent: effort }),
      make('small', ...linkedText(source)),
      makeButton(next ? 'button small primary' : 'button small', button, () => state.send({ type: 'step', to })),
    );
  setChildren(state.cards, cards, () => cards.map(card));
}

export const lessons = defineComponent({ create, update });
