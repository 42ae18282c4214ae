// Queues of events for Python. While Python is busy, Streamlit keeps only the last message of a component. Therefore
// each message repeats all events that Python has not acknowledged (mounting.py), and no event is lost.

import { affectedPart, createFolding } from '../core/pending.js';
import { isDirect, postEvents } from './direct.js';
import { choices, markStale, mounted, questions } from './stale.js';

const PAUSE = 60; // ms between two messages of a drag
const PATIENCE = 600; // ms without acknowledgement after which the next message is sent without waiting
const LOST = 5000; // ms after which an unacknowledged message is considered lost and sent again
const RETRY = 3100; // ms after which events that did not reach the route are sent again
// largest number of events in one message, oldest first (MAX_EVENTS in channel.py); the remaining events are sent after
// the acknowledgement
const BATCH = 256;

// The last event number. Numbers start at the current time, so that they also increase over remounts and reloads of the
// page: a session must never receive a number twice.
let last = Date.now();
const queues = new Set();
const fold = createFolding();

let drawAnswer = (_about, _payloads) => {};
let again = 0; // timer that sends unacknowledged events again

/** Sets the function that displays a response of the events route: `draw(about, payloads)`. */
export function onAnswer(draw) {
  drawAnswer = draw;
}

const route = {
  // Every request has all waiting events, so that no event is missing in a request that overtakes another request.
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

/** Shows in the toolbar whether the server can be reached. */
export function showConnection(isThere) {
  for (const state of mounted) state.showConnection?.(isThere);
}

/** Sends again the events that were not acknowledged. */
function sendAgain() {
  for (const queue of queues) if (queue.waiting.length) queue.again();
}

/**
 * Sends the waiting events through Streamlit, which generates the whole page. Without waiting events, only a run is
 * requested: the route may have handled all events, but the last script run began before these events arrived.
 */
function handOver() {
  const waiting = [...queues].filter(queue => queue.waiting.length);
  for (const queue of waiting) queue.push();
  if (!waiting.length) [...queues].find(queue => queue.trigger)?.trigger('event', []);
}

/**
 * Sends the waiting events of all components, the oldest first: an undo must not reach Python before the change that it
 * undoes.
 */
export function flushEvents() {
  if (isDirect()) {
    postEvents(route);
    return;
  }
  for (const queue of [...queues].sort((a, b) => a.first() - b.first())) queue.flush();
}

/** Creates the queue of a component; `trigger` is Streamlit's setTriggerValue, renewed with every render. */
export function createQueue() {
  let waiting = []; // events that are not acknowledged yet, sent or not
  let sent = 0; // sequence number of the last event that was sent
  let answered = 0; // sequence number of the last event that was acknowledged
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
  // Only one message is sent at a time, so that a key held down does not request more than Python can compute.
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
    key: '', // key of the component's mount
    /** Returns the events for a request to the events route, and marks them as sent. */
    take(onlyNew) {
      const taken = onlyNew ? unsent() : waiting.slice(0, BATCH);
      if (!onlyNew && taken.length) [sent, sentAt] = [Math.max(sent, taken.at(-1).sequence), performance.now()];
      return taken;
    },
    push: send,
    /** Returns the events whose effect is not included in the server's data yet, oldest first. */
    get waiting() {
      return waiting;
    },
    acknowledge(sequence) {
      answered = Math.max(answered, sequence);
      waiting = waiting.filter(event => event.sequence > sequence);
      if (unsent().length) schedule(waiting.at(-1).drag ? PAUSE : 0);
      else if (waiting.length && performance.now() - sentAt > LOST) send();
    },
    /** Sends an event and returns its number. Events of a drag (`drag: true`) are sent at most every 60 ms. */
    send(event) {
      last += 1;
      waiting = fold(waiting, { ...event, sequence: last });
      questions.ask(last, affectedPart(event));
      schedule(event.drag ? PAUSE : 0);
      // A new position is displayed before the tiles are dimmed, because dimming takes another frame.
      if (event.type === 'at') requestAnimationFrame(() => setTimeout(markStale));
      else markStale();
      return last;
    },
    first: () => unsent()[0]?.sequence ?? Infinity,
    flush() {
      if (unsent().length) send();
    },
    /** Sends all waiting events to a new session, which has not received any event. */
    again() {
      [sent, answered] = [0, 0];
      schedule(0);
    },
    /** Removes and returns the waiting events. */
    clear() {
      clearTimeout(timer);
      const removed = waiting;
      [sent, answered, waiting] = [0, 0, []];
      questions.withdraw(removed.map(event => event.sequence));
      return removed;
    },
    /** Closes the queue of a component that has left the page. */
    close() {
      left.push(...queue.clear().map(event => ({ key: queue.key, event })));
      queues.delete(queue);
      markStale();
    },
  };
  queues.add(queue);
  return queue;
}

let left = []; // {component key, event} of components that left the page: the session ended, or shows another page
let kept = []; // {component key, event} that an ended session did not handle, in order

/** Drops the events of components that left the page, because the session continues and cannot handle these events. */
export function continueSession() {
  left = [];
}

/**
 * Handles a new Python session, which has no state of this page, because the server restarted or another server
 * responds. The toolbar makes the session open the page's address. Until then, the waiting events are kept.
 */
export function restartSession() {
  const waiting = [...queues].flatMap(queue => queue.clear().map(event => ({ key: queue.key, event })));
  kept = [...kept, ...left, ...waiting]
    .filter(({ event }) => event.type !== 'address')
    .sort((a, b) => a.event.sequence - b.event.sequence);
  left = [];
  questions.restart();
  choices.forget();
}

/** Sends the kept events of the components that are on the page to the new session, which shows the page's address. */
export function sendKept() {
  const sent = kept;
  kept = [];
  for (const { key, event } of sent) {
    const queue = [...queues].find(other => other.key === key);
    if (queue) queue.send(event);
    else kept.push({ key, event });
  }
}
