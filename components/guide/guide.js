// The guide: a list of its sections, and each section with paragraphs, terms and code.

import { _, stateQuery } from '../core/texts.js';
import { offerMinute } from '../lab/minute.js';
import { KEYS } from '../lab/palette.js';
import { defineComponent } from '../runtime/component.js';
import { linkedText, make, makeButton, onLink, setChildren, setText } from '../widgets/dom.js';
import { termAnchor } from '../widgets/tip.js';

const MARKED = /(\*[^*]+\*|`[^`]+`)/;

function create(state) {
  const problems = make('p.problems', { role: 'status' });
  const begin = makeButton('button primary', _('Begin the first minute'), () => {
    offerMinute(true);
    state.send({ type: 'lab', plan: '' });
  });
  const nav = make('nav', { 'aria-label': _('Sections') });
  const text = make('div.text');
  state.root.append(make('main.place.guide.grid', make('aside', nav, begin), make('div', problems, text)));
  onLink(nav, ({ hash }) => {
    if (location.hash === hash) open(state);
    else location.hash = hash; // the change calls `open`
  });
  const follow = () => open(state);
  window.addEventListener('hashchange', follow);
  return { problems, nav, text, follow, opened: '' };
}

function update(state, { sections, problems }) {
  setText(state.problems, problems.join(' '));
  const link = ({ anchor, title }) =>
    make('a', { textContent: title, href: `${stateQuery({ page: 'about' })}#${anchor}` });
  setChildren(state.nav, sections, () => sections.map(link));
  setChildren(state.text, sections, () => sections.map(section));
  if (location.hash !== state.opened) open(state);
}

function section({ anchor, title, texts, rows, code }) {
  const keys = KEYS.map(([term, does]) => ({ key: '', term, text: _(does) }));
  const all = anchor === 'keys' ? keys : rows;
  return make(
    'section',
    { className: anchor, 'aria-labelledby': anchor },
    make('h2', { id: anchor, className: 'serif', tabIndex: -1, textContent: title }),
    ...texts.map(text => make('p', ...marked(text))),
    ...(all.length ? [make('dl', ...all.map(row))] : []),
    ...(code ? [make('pre', { tabIndex: 0, textContent: code, translate: false })] : []),
  );
}

const row = ({ key, term, text }) =>
  make(
    'div.wrap',
    key ? { id: termAnchor(key), tabIndex: -1 } : {},
    make('dt', ...marked(term)),
    make('dd', ...marked(text)),
  );

/** Returns the parts of a text, with names in bold, code, and references to papers as links. */
const marked = text =>
  text.split(MARKED).flatMap((part, index) => {
    if (index % 2 === 0) return linkedText(part);
    const textContent = part.slice(1, -1);
    return part.startsWith('*') ? make('b', { textContent }) : make('code', { textContent, translate: false });
  });

/** Scrolls to the section or the term that the address names, and marks the term. */
function open(state) {
  state.opened = location.hash;
  const element = state.root.querySelector(`#${CSS.escape(location.hash.slice(1) || 'none')}`);
  state.root.querySelector('.opened')?.classList.remove('opened');
  if (!element) return;
  element.classList.add('opened');
  element.focus({ preventScroll: true });
  element.scrollIntoView({ block: 'start' });
}

export const guide = defineComponent({
  create,
  update,
  destroy: ({ follow }) => window.removeEventListener('hashchange', follow),
});
