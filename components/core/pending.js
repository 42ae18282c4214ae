// Tracks the events that Python has not handled yet, and which numbers on the page are out of date.

/** Returns the part of the page that an event changes: all numbers, the selected head, or nothing else. */
export const affectedPart = ({ type }) => (NUMBERS.includes(type) ? 'numbers' : type === 'select' ? 'selection' : null);

const NUMBERS = ['text', 'heads', 'scale', 'undo', 'redo', 'reset', 'model', 'plan', 'open'];
// event types of which only the newest waiting event matters, because each event replaces the whole value
const ONE = [
  'text',
  'select',
  'model',
  'prediction',
  'scale',
  'page',
  'language',
  'address',
  'open',
  'step',
  'plan',
  'thing',
  'look',
  'tool',
  'marks',
  'contribution',
];
const ADDRESS = ['kind', 'layer', 'head', 'scope'];
const FIELDS = ['constant', 'gate'];

/** Returns whether `event` makes the earlier event `previous` unnecessary. Undo and redo are never replaced. */
export function covers(event, previous) {
  if (event.type !== previous.type || event.key !== previous.key) return false;
  if (ONE.includes(event.type)) return true;
  return (
    event.type === 'heads' &&
    ADDRESS.every(part => event[part] === previous[part]) &&
    FIELDS.every(field => previous[field] === undefined || event[field] !== undefined)
  );
}

/** Returns the waiting events with a new event, which replaces some; an event before an undo, redo or reset stays. */
export function fold(waiting, event) {
  const turned = waiting.findLastIndex(({ type }) => ['undo', 'redo', 'reset'].includes(type));
  return [...waiting.filter((previous, index) => index <= turned || !covers(event, previous)), event];
}

/** Tracks the events that ask for new numbers. A payload answers all events up to its number, of all components. */
export function createRequests() {
  let requests = []; // {number, part} of each request, by number; of the answered requests only the newest per part
  return {
    ask(number, part) {
      if (part) requests.push({ number, part });
    },
    /** Removes events that will never reach Python, because their component has left the page. */
    withdraw(numbers) {
      requests = requests.filter(({ number }) => !numbers.includes(number));
    },
    answered(upTo) {
      requests = requests.filter(
        ({ number, part }, index) =>
          number > upTo || !requests.slice(index + 1).some(later => later.part === part && later.number <= upTo),
      );
    },
    /** Removes all requests, for a new session of Python. */
    restart() {
      requests = [];
    },
    /** Returns the number of the newest request about one of the parts; 0 if there is none. */
    newest: parts =>
      requests.reduce((most, { number, part }) => (parts.includes(part) ? Math.max(most, number) : most), 0),
  };
}
