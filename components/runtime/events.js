// Sends events to Python: through the events route or, where the route cannot be used, through Streamlit. An event waits
// until a payload includes it, and each message contains all waiting events, so that a lost message loses no event.

import { affectedPart, fold } from '../core/pending.js';
import { isDirect, postEvents } from './direct.js';
import { markStale, mounted, requests } from './stale.js';

const RETRY = 3100; // ms from a failed request to the next attempt
const LOST = 10_000; // ms after which a message that was not acknowledged is considered lost and sent again
// largest number of events in one message, oldest first (MAX_EVENTS in channel.py); the others follow its acknowledgement
const BATCH = 256;

// The last event number. Numbers start at the current time, so that they also increase over remounts and reloads of the
// page: a session must never receive a number twice.
let last = Date.now();
let waiting = []; // {key, sequence, ...} of the events that no payload includes yet, oldest first
let sent = 0; // number of the newest event in the messages so far
let handled = 0; // number of the newest event of any component that a payload includes
let left = []; // events of components that left the page: the session ended, or shows another page
let unhandled = []; // events that an ended session did not handle, in order
let late = new Set(); // keys of the components that the new session has not drawn yet; Streamlit may still replace them
let again = 0; // timer that sends events again
let drawAnswer = (_about, _payloads) => {};

/** Sets the function that displays a response of the events route: `draw(about, payloads)`. */
export function onAnswer(draw) {
  drawAnswer = draw;
}

const route = {
  gather() {
    const batch = waiting.slice(0, BATCH);
    sent = Math.max(sent, batch.at(-1)?.sequence ?? 0);
    return batch;
  },
  draw(about, payloads) {
    showConnection(true);
    if (about.layout) return push();
    drawAnswer(about, payloads);
  },
  done() {
    if (hasUnsent()) deliver();
    else sendAgainAfter(LOST);
  },
  refuse(isLost) {
    if (isLost) showConnection(false);
    push();
    sendAgainAfter(RETRY);
  },
  again() {
    showConnection(true);
    sent = 0; // the events of this request are still waiting
    if (isDirect()) postEvents(route, true);
    else deliver();
  },
};

/** Shows in the header whether the server can be reached. */
export function showConnection(isThere) {
  for (const state of mounted) state.showConnection?.(isThere);
}

const hasUnsent = () => waiting.some(({ sequence }) => sequence > sent);

/** Sends the waiting events, one message at a time: a key held down requests no more pages than Python can generate. */
function deliver() {
  if (isDirect()) postEvents(route);
  else if (sent <= handled) push();
}

/** Sends the waiting events through Streamlit in one message of the oldest one's component; without any, a run. */
function push() {
  const batch = route.gather();
  const triggers = new Map([...mounted].map(({ key, trigger }) => [key, trigger]));
  const trigger = triggers.get(batch[0]?.key) ?? triggers.get('bar') ?? [...triggers.values()].at(-1);
  trigger?.('event', batch);
  sendAgainAfter(LOST);
}

/** Sends the events again that are still waiting after some ms. */
function sendAgainAfter(time) {
  clearTimeout(again);
  again = setTimeout(() => {
    if (!waiting.length) return;
    sent = 0;
    deliver();
  }, time);
}

/** Returns the events of a component whose effect is not included in its data yet, oldest first. */
export const waitingOf = key => [...unhandled, ...waiting].filter(event => event.key === key);

/** Sends an event of the component `key` and returns the event's number. */
export function sendEvent(key, event) {
  last += 1;
  const numbered = { ...event, key, sequence: last };
  if (event.type !== 'address' && (late.size || unhandled.some(other => other.key === key))) {
    unhandled = fold(unhandled, numbered); // behind the older events, which the new session gets soon
    return last;
  }
  waiting = fold(waiting, numbered);
  requests.ask(last, affectedPart(event));
  deliver();
  markStale();
  return last;
}

/** Removes the events of a component up to a number, because a payload includes them. */
export function acknowledge(key, sequence) {
  late.delete(key);
  waiting = waiting.filter(event => event.key !== key || event.sequence > sequence);
}

/** Records that a payload includes the events up to a number, and sends the events that waited for this. */
export function continueAfter(answered) {
  handled = Math.max(handled, answered);
  if (hasUnsent()) deliver();
}

/** Removes the events of a component that has left the page. */
export function dropEvents(key) {
  const dropped = waiting.filter(event => event.key === key);
  waiting = waiting.filter(event => event.key !== key);
  left.push(...dropped);
  // the server never answers events of a component that its page does not have; later events must not wait for that
  sent = Math.max(handled, ...waiting.map(({ sequence }) => sequence).filter(sequence => sequence <= sent));
  requests.withdraw(dropped.map(({ sequence }) => sequence));
  markStale();
}

/** Drops the events of components that left the page, because the session continues and cannot handle these events. */
export function continueSession() {
  left = [];
}

/** Handles a new Python session, which has no state of this page: the header makes it open the page's address. */
export function restartSession() {
  unhandled = [...unhandled, ...left, ...waiting]
    .filter(({ type }) => type !== 'address')
    .sort((a, b) => a.sequence - b.sequence);
  [left, waiting, sent, handled] = [[], [], 0, 0];
  late = new Set(Array.from(mounted, ({ key }) => key));
  setTimeout(keys => keys.clear(), LOST, late); // the new session may show another page
  requests.restart();
}

/** Sends the unhandled events to the new session in order, as soon as the session has drawn every component. */
export function sendUnhandled() {
  if (late.size) return;
  const keys = new Set(Array.from(mounted, ({ key }) => key));
  const events = unhandled;
  unhandled = events.filter(({ key }) => !keys.has(key));
  for (const { key, sequence, ...event } of events) if (keys.has(key)) sendEvent(key, event);
}
