// What the Lab displays now: the payload with the events applied that Python has not answered yet.

import { clampSelection, pendingState } from '../head_state.js';

const THINGS = { head: 'head', row: 'layer', all: 'all' };

/** Returns the tab of the inspector that a selection opens. */
export const thingOf = scope => THINGS[scope] ?? 'head';

/** Returns {heads, selection, thing, look, at, marks}: the payload's values with the waiting events applied. */
export function currentView(data, waiting) {
  const { heads, selection } = pendingState(
    { grids: data.kinds, selection: data.selection, scale: data.scale },
    waiting,
  );
  const { thing, look, at, marks } = data;
  const now = { heads, selection: clampSelection(selection, data.kinds), thing, look, at, marks: { ...marks } };
  for (const event of waiting) {
    if (event.type === 'select') now.thing = thingOf(event.scope);
    if (event.type === 'thing') now.thing = event.thing;
    if (event.type === 'look') now.look = event.position;
    if (event.type === 'prediction') now.at = data.predicts[event.index] ?? at;
    if (event.type === 'marks') Object.assign(now.marks, marksOf(event));
  }
  return now;
}

const marksOf = ({ contributions, guesses }) => ({
  ...(contributions === undefined ? {} : { contributions }),
  ...(guesses === undefined ? {} : { guesses }),
});
