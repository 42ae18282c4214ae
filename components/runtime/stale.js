// Which numbers on the page are out of date: those that answer an older question than the newest one.

import { createChoices, createQuestions, createTyping } from '../core/pending.js';
import { setAttribute } from '../widgets/dom.js';

const DIM_DELAY = 120; // ms without an answer

export const questions = createQuestions();
export const choices = createChoices();
export const typing = createTyping();

/** The states of the components on the page. */
export const mounted = new Set();

/** Marks each component whose numbers answer an older question than the newest one, and only those. */
export function markStale() {
  for (const state of mounted) markComponent(state);
}

/** Marks a component whose numbers are old. */
export function markComponent(state) {
  const { data, parts, numbers, root } = state;
  if (!parts.length || !data) return;
  // All numbers wait for a text; of events, only those count that change what this component shows.
  state.awaitsText = typing.isOld(data.text ?? null);
  const isOld = state.awaitsText || questions.newest(parts) > (data.answered ?? 0);
  root.classList.toggle('old', isOld);
  setAttribute(numbers ?? root, 'aria-busy', isOld);
  dim(state, isOld);
  state.marked?.();
}

/** Old numbers look old after DIM_DELAY; most answers come before, and nothing flickers. */
function dim(state, isOld) {
  if (isOld) {
    state.dimming ??= setTimeout(() => state.root.classList.add('dimmed'), DIM_DELAY);
    return;
  }
  clearTimeout(state.dimming);
  state.dimming = undefined;
  state.root.classList.remove('dimmed');
}
