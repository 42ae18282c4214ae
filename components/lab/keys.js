// Keys of the Lab: they work on the whole page, in a notebook only inside the Lab; not in text fields, menus and dialogs.

import { keyChange, selectedStates } from '../core/head_state.js';
import { letterOf } from '../core/keys.js';
import { pageData } from '../core/page_data.js';
import { TEXT_INPUTS } from '../widgets/dom.js';

/** Handles the keys of the page; returns a function that ends this. */
export function listenForKeys(state) {
  const onKey = event => {
    if (!state.data || !state.root.isConnected) return;
    if (pageData.embedded && !event.composedPath().includes(state.root)) return;
    if (event.altKey || event.ctrlKey || event.metaKey || event.isComposing) return;
    const quiet = `${TEXT_INPUTS}, dialog, [role="dialog"], [role="menu"]`;
    if (event.composedPath().some(element => element instanceof HTMLElement && element.matches(quiet))) return;
    const key = letterOf(event);
    const repeats = key === '+' || key === '=' || key === '-' || key === '[' || key === ']';
    if (event.repeat && !repeats) return;
    if (!act(state, key, event.shiftKey)) return;
    // Streamlit has its own keys: C clears caches and R reruns the app
    event.preventDefault();
    event.stopPropagation();
  };
  window.addEventListener('keydown', onKey, { capture: true });
  return () => window.removeEventListener('keydown', onKey, { capture: true });
}

/** Does what a key stands for; returns false if the key means nothing here. */
function act(state, key, shift) {
  const { view, data } = state;
  if (key === '/' || key === '?') return Boolean(state.openPalette?.());
  if (key === 'z') {
    // sent even if nothing can be undone yet, because Python may not have received the change yet
    state.send({ type: shift ? 'redo' : 'undo' });
    state.refresh();
    return true;
  }
  if (key === '[' || key === ']') {
    state.step(key === ']' ? 1 : -1);
    return true;
  }
  const change = keyChange(key, selectedStates(view), data.can_constant);
  if (!change) return key === 'c' || key === 'r';
  state.change(change);
  return true;
}
