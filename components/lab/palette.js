// All tools: a dialog that searches the questions and terms, grouped by what they are about.

import { foundTools, THINGS } from '../core/stage/tools.js';
import { _, N_ } from '../core/texts.js';
import { make, setText } from '../widgets/dom.js';
import { iconElement } from '../widgets/menu.js';

const NAMES = {
  head: N_('A head'),
  layer: N_('A layer'),
  all: N_('All heads'),
  word: N_('A word'),
  answer: N_('The answer'),
};
/** Keys of the Lab and what they do. */
export const KEYS = [
  ['← → ↑ ↓', N_('move among heads or words')],
  ['C P R', N_('constant, pruned, live')],
  ['+ −', N_('output of the selected heads')],
  ['Z, Shift Z', N_('undo, redo')],
  ['[ ]', N_('previous, next prediction')],
  ['/', N_('all tools')],
];
const FIND = 'M7 2.400a4.600 4.600 0 1 0 0 9.200a4.600 4.600 0 1 0 0 -9.200M10.600 10.600L14 14';

/** Creates the list of all tools: {element, open(tools), isOpen(), close()}; `act(key)` opens a tool. */
export function createPalette(act) {
  const field = make('input', {
    type: 'text',
    placeholder: _('What do you want to know?'),
    spellcheck: false,
    autocomplete: 'off',
    'aria-label': _('Search tools'),
    role: 'combobox',
    'aria-expanded': true,
    'aria-controls': 'all-tools',
  });
  const columns = make('div.columns', { id: 'all-tools', role: 'listbox', 'aria-label': _('All tools') });
  const count = make('p.spoken', { role: 'status' });
  const close = make('button', { 'aria-label': _('Close') }, make('kbd', { textContent: 'Esc' }));
  const element = make('dialog.palette', { 'aria-label': _('All tools') });
  element.append(make('div.search.flex', iconElement(FIND), field, close), columns, count);
  let tools = [];
  let marked = 0;
  const options = () => /** @type {HTMLElement[]} */ (Array.from(columns.querySelectorAll('[role=option]')));

  const mark = index => {
    const all = options();
    marked = all.length ? (index + all.length) % all.length : 0;
    all.forEach((option, i) => option.setAttribute('aria-selected', String(i === marked)));
    field.setAttribute('aria-activedescendant', all[marked]?.id ?? '');
    all[marked]?.scrollIntoView({ block: 'nearest' });
  };
  const choose = key => {
    element.close();
    act(key);
  };
  const show = () => {
    const found = foundTools(tools, field.value);
    columns.replaceChildren(
      ...THINGS.map(thing => [thing, found.filter(tool => tool.thing === thing)])
        .filter(([, own]) => own.length)
        .map(([thing, own]) =>
          make(
            'div.group',
            { role: 'group', 'aria-label': _(NAMES[thing]) },
            make('h4.strong', { textContent: _(NAMES[thing]), 'aria-hidden': true }),
            ...own.map(tool =>
              make(
                'div',
                { id: `tool-${tool.key}`, className: 'option item', onclick: () => choose(tool.key), role: 'option' },
                make('span', { textContent: tool.question }),
                make('small', { textContent: tool.term }),
              ),
            ),
          ),
        ),
    );
    setText(count, found.length ? '' : _('No tool has these words.'));
    count.classList.toggle('spoken', found.length > 0);
    mark(0);
  };

  field.addEventListener('input', show);
  element.addEventListener('keydown', event => {
    event.stopPropagation(); // letters are shortcuts of the heads, but not in the dialog
    const place = { ArrowDown: marked + 1, ArrowUp: marked - 1 }[event.key];
    if (place !== undefined) {
      event.preventDefault();
      mark(place);
    } else if (event.key === 'Enter' && event.target === field) {
      event.preventDefault();
      options()[marked]?.click();
    }
  });
  element.addEventListener('pointerdown', event => {
    if (event.target === element) element.close(); // the backdrop
  });
  close.onclick = () => element.close();

  return {
    element,
    open(offered) {
      tools = offered;
      field.value = '';
      show();
      if (!element.open) element.showModal();
      field.focus();
    },
    isOpen: () => element.open,
    close: () => element.close(),
  };
}
