// Events on their way to Python. While Python is busy, Streamlit keeps only the last message of a component, so each
// message repeats all events that Python has not acknowledged (mounting.py), and nothing gets lost.

import { affectedPart, createFolding } from '../core/pending.js';
import { isDirect, postEvents } from './direct.js';
import { choices, markStale, mounted, questions, typing } from './stale.js';

const PAUSE = 60; // ms between two messages of a drag
const PATIENCE = 600; // ms without an answer after which the next message goes out all the same
const LOST = 5000; // ms after which a message that an answer knows nothing of is taken for lost, and sent again
const RETRY = 3100; // ms after which events that did not reach the route are sent again
const BATCH = 256; // events of one message, the oldest first; MAX_EVENTS in mounting.py. The rest follows the answer.

// Counts on over remounts and reloads of the page: a session must never see a number twice.
let last = Date.now();
const queues = new Set();
const fold = createFolding();

let drawAnswer = (_about, _payloads) => {};
let again = 0; // timer

/** Sets what draws an answer of the events route: `draw(about, payloads)`. */
export function onAnswer(draw) {
  drawAnswer = draw;
}

const route = {
  // Every request has all events that wait, so that one that overtakes another misses none.
  gather: ({ onlyNew = false } = {}) =>
    [...queues]
      .flatMap(queue => queue.take(onlyNew).map(event => ({ ...event, key: queue.key })))
      .sort((a, b) => a.sequence - b.sequence),
  draw: (about, payloads) => {
    showConnection(true);
    if (about.layout) handOver();
    else drawAnswer(about, payloads);
  },
  refuse: isLost => {
    if (isLost) showConnection(false);
    handOver();
    clearTimeout(again);
    again = setTimeout(sendAgain, RETRY);
  },
};

/** Shows, in the toolbar, whether the server can be reached. */
export function showConnection(isThere) {
  for (const state of mounted) state.showConnection?.(isThere);
}

/** What nobody has answered goes out again. */
function sendAgain() {
  for (const queue of queues) if (queue.waiting.length) queue.again();
}

/** Leaves the events that wait to Streamlit, which draws the whole page. */
function handOver() {
  const waiting = [...queues].filter(queue => queue.waiting.length);
  for (const queue of waiting) queue.push();
}

/** Sends what waits in all components, the oldest first: Python must not meet an undo before what it undoes. */
export function flushEvents() {
  if (isDirect()) {
    postEvents(route);
    return;
  }
  for (const queue of [...queues].sort((a, b) => a.first() - b.first())) queue.flush();
}

/** A queue; `trigger` is Streamlit's setTriggerValue, renewed with every render. */
export function createQueue() {
  let waiting = []; // sent or not, not yet acknowledged
  let sent = 0; // sequence number of the last event that was sent
  let answered = 0; // and of the last one that was acknowledged
  let sentAt = 0;
  let timer = 0;
  const unsent = () => waiting.filter(event => event.sequence > sent);
  const send = () => {
    clearTimeout(timer);
    if (!waiting.length) return;
    const batch = waiting.slice(0, BATCH);
    sentAt = performance.now();
    sent = Math.max(sent, batch.at(-1).sequence);
    queue.trigger?.('event', batch);
  };
  // One message is under way at a time: a key held down asks Python for no more than it can answer.
  const schedule = pause => {
    clearTimeout(timer);
    if (isDirect()) {
      postEvents(route);
      return;
    }
    const wait = sent > answered ? PATIENCE : pause;
    const rest = sentAt + wait - performance.now();
    if (wait === 0 || rest <= 0) flushEvents();
    else timer = setTimeout(flushEvents, rest);
  };
  const queue = {
    trigger: null,
    key: '', // of its component's mount
    /** The events for a request to the events route, which from now on count as sent. */
    take(onlyNew) {
      const taken = onlyNew ? unsent() : waiting.slice(0, BATCH);
      if (!onlyNew && taken.length) [sent, sentAt] = [Math.max(sent, taken.at(-1).sequence), performance.now()];
      return taken;
    },
    push: send,
    /** Events whose effect the server's data do not show yet, oldest first. */
    get waiting() {
      return waiting;
    },
    acknowledge(sequence) {
      answered = Math.max(answered, sequence);
      waiting = waiting.filter(event => event.sequence > sequence);
      if (unsent().length) schedule(waiting.at(-1).drag ? PAUSE : 0);
      else if (waiting.length && performance.now() - sentAt > LOST) send();
    },
    /** Sends an event, and returns its number; `drag: true` marks one of many, sent at most every 60 ms. */
    send(event) {
      last += 1;
      waiting = fold(waiting, { ...event, sequence: last });
      questions.ask(last, affectedPart(event));
      if (['undo', 'redo', 'address'].includes(event.type)) typing.turn();
      schedule(event.drag ? PAUSE : 0);
      // A place that is gone to is drawn first: tiles that look old cost a frame of their own.
      if (event.type === 'at') requestAnimationFrame(() => setTimeout(markStale));
      else markStale();
      return last;
    },
    first: () => unsent()[0]?.sequence ?? Infinity,
    flush() {
      if (unsent().length) send();
    },
    /** To a new session, which has seen nothing. */
    again() {
      [sent, answered] = [0, 0];
      schedule(0);
    },
    /** The component has gone: what waits can reach no one, and a page that has gone must not be called. */
    close() {
      clearTimeout(timer);
      queues.delete(queue);
      questions.withdraw(waiting.map(event => event.sequence));
      waiting = [];
      markStale();
    },
  };
  queues.add(queue);
  return queue;
}

/** Python's session has no memory of this page: it was restarted, or the connection came to another one. */
export function restartSession() {
  const open = [...queues].flatMap(queue => queue.waiting.map(event => event.sequence));
  questions.restart(open);
  typing.forget();
  choices.forget();
  for (const queue of queues) queue.again();
}
