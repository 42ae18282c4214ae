// What a step of a lesson shows, from what Python sent and what has been answered since.

/** A text's pieces: what stands between stars is the name of a control. `Press *Prune*.` -> Press |Prune| . */
export const splitStarred = text =>
  text
    .split('*')
    .map((piece, index) => ({ text: piece, isName: index % 2 === 1 }))
    .filter(piece => piece.text);

/**
 * A question's choices as they look: {text, mark}; mark is `right` or `wrong` once the answer may be seen, `wrong` too
 * where another one may be tried, `chosen` while it is awaited, else empty.
 */
export function choiceMarks({ choices, chosen, again, right }, waiting) {
  const picked = waiting ?? chosen;
  const isOpen = right === null && !(again && waiting === undefined);
  return choices.map((text, index) => {
    if (right !== null && index === right) return { text, mark: 'right' };
    if (index !== picked) return { text, mark: '' };
    return { text, mark: isOpen ? 'chosen' : 'wrong' };
  });
}

/** Which way a key leads: `forth`, `back`, or null. Shift takes it along wherever the focus is. */
export function lessonKey({ key, shiftKey, altKey, ctrlKey, metaKey }, isOwn) {
  if (altKey || ctrlKey || metaKey || !(isOwn || shiftKey)) return null;
  return { PageDown: 'forth', PageUp: 'back' }[key] ?? null;
}

/** The answer that is on its way to Python, if one is. */
export const lessonAnswer = waiting => waiting.findLast(({ type }) => type === 'answer') ?? null;
