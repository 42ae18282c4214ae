// Splits a lesson's text into pieces, marks the choices of a question, and reads the keys of lessons.

/** Splits a text at asterisks, which enclose the names of controls: `Press *Prune*.` -> Press |Prune| . */
export const splitStarred = text =>
  text
    .split('*')
    .map((piece, index) => ({ text: piece, isName: index % 2 === 1 }))
    .filter(piece => piece.text);

/** Returns a task: the names of keys, which are between square brackets, are for devices with a keyboard. */
export const taskText = (task, hasKeys) => task.replace(/\[([^\]]*)\]/g, hasKeys ? '$1' : '');

/** Returns a question's choices as {text, mark}; the mark is `right`, `wrong`, `chosen` or empty. */
export function choiceMarks({ choices, chosen, again, right }, waiting) {
  const picked = waiting ?? chosen;
  const isOpen = right === null && !(again && waiting === undefined);
  return choices.map((text, index) => {
    if (right !== null && index === right) return { text, mark: 'right' };
    if (index !== picked) return { text, mark: '' };
    return { text, mark: isOpen ? 'chosen' : 'wrong' };
  });
}

/** Returns `forth`, `back` or null for a key. With Shift, Page Up and Page Down work wherever the focus is. */
export function lessonKey({ key, shiftKey, altKey, ctrlKey, metaKey }, isOwn) {
  if (altKey || ctrlKey || metaKey || !(isOwn || shiftKey)) return null;
  return { PageDown: 'forth', PageUp: 'back' }[key] ?? null;
}

/** Returns the last answer event that Python has not processed, or null. */
export const lessonAnswer = waiting => waiting.findLast(({ type }) => type === 'answer') ?? null;
