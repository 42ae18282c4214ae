// Tracks the events that Python has not answered yet, and which numbers on the page are out of date.

/** Returns the part of the page that an event changes: all numbers, the selected head, or nothing else. */
export const affectedPart = ({ type }) => (NUMBERS.includes(type) ? 'numbers' : type === 'select' ? 'selection' : null);

const NUMBERS = ['heads', 'scale', 'undo', 'redo', 'reset', 'model', 'plan', 'at', 'open'];
// event types of which only the newest waiting event counts, since each replaces the whole value
const ONE = [
  'select',
  'view',
  'form',
  'mean',
  'model',
  'prediction',
  'scale',
  'find',
  'page',
  'language',
  'address',
  'open',
  'step',
  'plan',
  'at',
];
const ADDRESS = ['kind', 'layer', 'head', 'scope'];
const FIELDS = ['constant', 'gate'];

/** Returns whether `event` makes the earlier event `previous` unnecessary. Undo and redo are never replaced. */
export function covers(event, previous) {
  if (event.type !== previous.type) return false;
  if (ONE.includes(event.type)) return true;
  return (
    event.type === 'heads' &&
    ADDRESS.every(part => event[part] === previous[part]) &&
    FIELDS.every(field => previous[field] === undefined || event[field] !== undefined)
  );
}

/**
 * Creates the rule that adds a new event to the waiting ones, for all queues of a page. Waiting events that the new
 * event replaces are removed, the others keep their order. An event that precedes an undo or redo stays in every queue,
 * because the undo refers to it.
 */
export function createFolding() {
  let turned = 0; // number of the last undo, redo or reset event
  return (waiting, event) => {
    if (['undo', 'redo', 'reset'].includes(event.type)) turned = event.sequence;
    return [...waiting.filter(previous => previous.sequence < turned || !covers(event, previous)), event];
  };
}

/**
 * Tracks the questions of a page, over all its components: the event number that an answer must have reached to answer
 * the newest question.
 */
export function createQuestions() {
  let asked = []; // {number, part} of each question, by number; of the answered questions only the newest per part
  return {
    ask(number, part) {
      if (part) asked.push({ number, part });
    },
    /** Removes events that will never reach Python, because their component has left the page. */
    withdraw(numbers) {
      asked = asked.filter(({ number }) => !numbers.includes(number));
    },
    answered(upTo) {
      asked = asked.filter(
        ({ number, part }, index) =>
          number > upTo || !asked.slice(index + 1).some(later => later.part === part && later.number <= upTo),
      );
    },
    /** Starts again for a new session of Python, which has no state; the waiting events are sent to it again. */
    restart(waiting) {
      asked = asked.filter(({ number }) => waiting.includes(number));
    },
    /** Returns the number of the newest question about one of the parts, 0 if there is none. */
    newest: parts =>
      asked.reduce((most, { number, part }) => (parts.includes(part) ? Math.max(most, number) : most), 0),
  };
}

/**
 * Tracks the text typed into Streamlit's text box, and the text that each answer is about; texts are stored as
 * fingerprints. Python may skip texts and may change one (cut it or replace it), but never returns an older one.
 */
export function createTyping() {
  // texts typed since the last answer to the newest text, oldest first; before them, the text of that answer
  let typed = [];
  let settled = null; // the typed text that was answered last, to which the answers of all components will refer
  // texts typed before the settled one: if two answers are drawn at once, parts of the older one arrive later
  let passed = [];
  let last = null; // the text of the last answer
  return {
    typed(text) {
      if (!typed.length) typed = [last];
      if (typed.at(-1) !== text) typed = [...typed, text];
    },
    /** Handles an answer about `text`, received while the box contained `shown` (null without a box). */
    answered(text, shown) {
      last = text;
      const before = typed.length ? typed.slice(0, -1) : passed;
      if (before.includes(text) && text !== (typed.at(-1) ?? settled) && shown !== null && text !== shown) return;
      if (typed.length) [settled, passed] = [text, typed.filter(other => other !== text)];
      // the text was chosen, restored by undo, or belongs to the previous page
      else if (text !== settled) [settled, passed] = [null, []];
      typed = [];
    },
    forget() {
      [typed, settled, passed] = [[], null, []];
    },
    /** Handles a request other than typing, such as undo, which can restore an earlier text. */
    turn() {
      passed = [];
    },
    /** Returns whether an answer is awaited, or the last answer was considered outdated. */
    get open() {
      return typed.length > 0 || passed.includes(last);
    },
    get last() {
      return last;
    },
    /** Returns whether an answer about `text` is older than the typed text. */
    isOld(text) {
      if (text === null) return false;
      return typed.length ? text !== typed.at(-1) : settled !== null && text !== settled;
    },
  };
}

const FEW = 9; // largest number of positions that each have a number under the slider

/** Returns the positions with a number under the slider: all of a few, or the first and the last of many. */
export const sliderTicks = places => (places.length > FEW ? [places[0], places.at(-1)] : places);

/**
 * Tracks positions that the visitor has chosen, by group: components of a group show them before Python does. A choice
 * holds until an answer includes it.
 */
export function createChoices() {
  const chosen = new Map();
  return {
    choose(group, place, number) {
      chosen.set(group, { place, number });
    },
    /** Returns the position of a group when Python reports `place` after all events up to the number `answered`. */
    shown(group, place, answered) {
      const one = chosen.get(group);
      return one && one.number > answered ? one.place : place;
    },
    forget() {
      chosen.clear();
    },
  };
}
