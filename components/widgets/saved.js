// The menu of saved states (save under a name, open, export), and the citation. States are stored in the browser.

import { pageData } from '../core/page_data.js';
import { citedState, exportedStates, readSaved, withSaved } from '../core/saved.js';
import { _ } from '../core/texts.js';
import { make, makeButton } from './dom.js';
import { linkTo, save, stateLink } from './download_menu.js';
import { createMenu } from './menu.js';
import { keep, recall } from './storage.js';

const KEPT = 'attention-lab-saved';
const ICON = 'M4 2h8v12l-4-3-4 3z';

const stored = () => readSaved(recall(KEPT));

const store = states => keep(KEPT, JSON.stringify(states));

/** Creates {menu, form, close()}: the menu of saved states, and the form for the name of a state. */
export function createSaved(state, copy, onOpen) {
  const name = make('input.input', { maxLength: 80, 'aria-label': _('Name of the state') });
  const form = make(
    'form.saving.wrap',
    { hidden: true },
    name,
    make('button', { type: 'submit', className: 'button', textContent: _('Save') }),
    makeButton('button', _('Cancel'), () => close()),
  );
  let outside = null;
  const hide = () => {
    form.hidden = true;
    outside?.abort();
  };
  const close = () => {
    hide();
    menu.button.focus();
  };
  form.addEventListener('submit', event => {
    event.preventDefault();
    store(withSaved(stored(), name.value, location.search));
    close();
  });
  form.addEventListener('keydown', event => {
    event.stopPropagation(); // the key event ends here: letters are shortcuts of the heads, but not in this form
    if (event.key === 'Escape') close();
  });
  const ask = () => {
    form.hidden = false;
    outside?.abort();
    outside = new AbortController();
    const listen = { signal: outside.signal, capture: true };
    document.addEventListener('pointerdown', event => event.composedPath().includes(form) || hide(), listen);
    name.value = _('State {n}', { n: stored().length + 1 });
    name.focus();
    name.select();
  };
  const menu = createMenu({
    icon: ICON,
    text: _('Saved states'),
    className: 'button',
    entries: () => {
      const states = stored();
      return [
        { text: _('Save this state…'), act: ask },
        ...states.map(({ name: title, query }) => ({
          text: _('Open: {name}', { name: title }),
          act: () => {
            onOpen();
            state.send({ type: 'open', query });
          },
        })),
        ...(states.length
          ? [
              {
                text: _('Export saved states, JSON'),
                act: () => save(exportedStates(states, linkTo('')), 'application/json', 'attention-lab-states.json'),
              },
              { text: _('Remove all saved states'), act: () => store([]) },
            ]
          : []),
        { text: _('Copy citation, BibTeX'), act: () => copy(citedState(pageData.citation, stateLink())) },
      ];
    },
  });
  return {
    menu,
    form,
    close: () => {
      menu.close();
      hide();
    },
  };
}
