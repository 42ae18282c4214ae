// What the browser has asked Python and Python has not answered: which events wait, and which numbers are old.

/** Says of what an answer to an event changes: every number, or which head is shown large; else nothing. */
export const affectedPart = ({ type }) => (NUMBERS.includes(type) ? 'numbers' : type === 'select' ? 'selection' : null);

const NUMBERS = ['heads', 'scale', 'undo', 'redo', 'reset', 'model', 'plan', 'at'];
// There is one of each of these: the last one holds.
const ONE = [
  'select',
  'view',
  'form',
  'mean',
  'model',
  'prediction',
  'scale',
  'page',
  'language',
  'address',
  'step',
  'plan',
  'at',
];
const ADDRESS = ['kind', 'layer', 'head', 'scope'];
const FIELDS = ['constant', 'gate'];

/** Whether `event` says all that the earlier `previous` said. Undo and redo count: they are never covered. */
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
 * For all queues of a page: the waiting events of one with a new one behind them. What it covers goes, the rest keeps
 * its order. An event that undo or redo stands behind stays, for they answer to it, in whichever queue they wait.
 */
export function createFolding() {
  let turned = 0; // the number of the last undo, redo or reset
  return (waiting, event) => {
    if (['undo', 'redo', 'reset'].includes(event.type)) turned = event.sequence;
    return [...waiting.filter(previous => previous.sequence < turned || !covers(event, previous)), event];
  };
}

/**
 * The questions of a page, over all its components: which number of event an answer must have reached to be the
 * answer to the newest one.
 */
export function createQuestions() {
  let asked = []; // {number, part}, growing; of those that were answered, the newest of each part
  return {
    ask(number, part) {
      if (part) asked.push({ number, part });
    },
    /** Events that will never reach Python: their component has gone. */
    withdraw(numbers) {
      asked = asked.filter(({ number }) => !numbers.includes(number));
    },
    answered(upTo) {
      asked = asked.filter(
        ({ number, part }, index) =>
          number > upTo || !asked.slice(index + 1).some(later => later.part === part && later.number <= upTo),
      );
    },
    /** Python's session is a new one, which knows of nothing; what waits is sent to it again. */
    restart(waiting) {
      asked = asked.filter(({ number }) => waiting.includes(number));
    },
    /** The number of the newest question about one of the parts, 0 if there is none. */
    newest: parts =>
      asked.reduce((most, { number, part }) => (parts.includes(part) ? Math.max(most, number) : most), 0),
  };
}

/**
 * What is typed in a box that is not ours, and which text an answer is about; texts by their fingerprints. Python may
 * skip texts, and may change one (cut it, or take another one for it), but never invents an older one.
 */
export function createTyping() {
  let typed = []; // since the last answer to the newest text, oldest first; before them, the text that was answered
  let settled = null; // the typed text that was answered last, which answers of all components will be about
  let passed = []; // what was typed before it: where two answers are drawn at once, some of the older one come later
  let last = null; // the text of the last answer
  return {
    typed(text) {
      if (!typed.length) typed = [last];
      if (typed.at(-1) !== text) typed = [...typed, text];
    },
    /** An answer came that is about `text`, while the box held `shown` (null: there is no box). */
    answered(text, shown) {
      last = text;
      const before = typed.length ? typed.slice(0, -1) : passed;
      if (before.includes(text) && text !== (typed.at(-1) ?? settled) && shown !== null && text !== shown) return;
      if (typed.length) [settled, passed] = [text, typed.filter(other => other !== text)];
      else if (text !== settled) [settled, passed] = [null, []]; // chosen, undone, or of a page that was there before
      typed = [];
    },
    forget() {
      [typed, settled, passed] = [[], null, []];
    },
    /** Something else than typing was asked for, as undo is: it may bring back what was typed before. */
    turn() {
      passed = [];
    },
    /** Whether an answer is waited for, or the last one was taken for an older one. */
    get open() {
      return typed.length > 0 || passed.includes(last);
    },
    get last() {
      return last;
    },
    /** Whether an answer about `text` is older than what was typed. */
    isOld(text) {
      if (text === null) return false;
      return typed.length ? text !== typed.at(-1) : settled !== null && text !== settled;
    },
  };
}

const FEW = 9; // places, each of which can have its number under the slider

/** Of a slider's places those that stand under it: all, or of many the first and the last one. */
export const sliderTicks = places => (places.length > FEW ? [places[0], places.at(-1)] : places);

/**
 * Places that were chosen here, by group: components of a group show them before Python does. A choice holds until an
 * answer knows of it.
 */
export function createChoices() {
  const chosen = new Map();
  return {
    choose(group, place, number) {
      chosen.set(group, { place, number });
    },
    /** What the group shows where Python says `place`, having seen all events up to the number `answered`. */
    shown(group, place, answered) {
      const one = chosen.get(group);
      return one && one.number > answered ? one.place : place;
    },
    forget() {
      chosen.clear();
    },
  };
}
