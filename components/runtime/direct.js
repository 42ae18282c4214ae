// Sends events to the events route (app/route.py), which responds with new payloads without a run of the Streamlit
// script.

import { createSchedule, unpackBlocks } from '../core/direct.js';
import { unpack } from '../core/payload.js';

const LONGEST = 20_000; // ms after which a request is aborted
const SPREAD = 0.3; // largest random part of a pause, so that the browsers of a class do not come back together

const schedule = createSchedule();
let page = { visit: null, direct: false }; // {visit, direct} of the newest payload from Streamlit
let seen = 0; // serial number of the newest response that was displayed completely
let isMissing = false; // true if this server has no events route
let timer = 0;
let mustAsk = false; // true if the next request is sent even without events, because a response was incomplete

/** Records the session id and the direct flag of a payload from Streamlit. */
export function followVisit({ visit, direct }) {
  if (visit !== page.visit) seen = 0;
  page = { visit, direct: Boolean(direct) };
}

/** Returns whether events are sent to the route. */
export const isDirect = () => page.direct && !isMissing && schedule.isOpen(performance.now());

/** Returns the address of a route of this visit, below the app's path. */
const address = name => `${location.pathname.replace(/[^/]*$/, '')}lab/visits/${page.visit}/${name}`;

/** Returns the address of a file that the server makes for the present state; null if this server has no routes. */
export const fileAddress = name => (page.direct && !isMissing ? address(`files/${name}`) : null);

/** Sends the events of `gather()` as soon as the limits allow it; `again()` is called if the server is busy. */
export function postEvents(actions, isIncomplete = false) {
  mustAsk ||= isIncomplete;
  clearTimeout(timer);
  const delay = schedule.delay(performance.now());
  if (delay > 0) timer = setTimeout(() => postEvents(actions), delay);
  else post(actions);
}

async function post({ gather, draw, done, refuse, again }) {
  // Every request has all waiting events, so that no event is missing in a request that overtakes another request.
  const events = gather();
  if (!events.length && !mustAsk) return;
  mustAsk = false;
  const visit = page.visit;
  const number = schedule.begin(performance.now());
  let isLost = true;
  let pause = 0;
  try {
    const response = await fetch(address('events'), {
      method: 'POST',
      body: JSON.stringify({ seen, events }),
      signal: AbortSignal.timeout(LONGEST),
    });
    isLost = false;
    isMissing ||= response.status === 404 || response.status === 405;
    if (response.status === 429) pause = Number(response.headers.get('retry-after-ms')) || 1000;
    else if (!response.ok) throw new Error(`status ${response.status}`);
    else
      pause = await read(response, (about, payloads) => {
        schedule.end(number); // ends here, because the late part of the response must not delay other requests
        if (page.visit === visit) draw(about, payloads);
      });
  } catch {
    schedule.fail(number, performance.now());
    refuse(isLost);
    return;
  }
  if (pause) {
    schedule.pause(number, pause * (1 + SPREAD * Math.random()), performance.now());
    again();
  } else {
    schedule.end(number);
    done();
  }
}

/** Passes a response's payloads to `hand(about, payloads)`; returns the ms until missing ones are asked for, or 0. */
async function read(response, hand) {
  let rest = new Uint8Array(0);
  let about = null;
  const waiting = [];
  for await (const chunk of chunks(response)) {
    const unpacked = unpackBlocks(rest, chunk);
    rest = unpacked.rest;
    waiting.push(...unpacked.blocks.map(unpack));
    if (about === null && waiting.length > 0 && waiting.length > waiting[0].count) {
      about = waiting[0];
      hand(about, waiting.splice(0, 1 + about.count).slice(1));
    }
    if (about === null) continue;
    for (const late of waiting.splice(0)) {
      if (late.again) return late.again;
      if (late.layout) hand(late, []);
      else hand(about, [late]);
    }
  }
  if (about && !about.layout) seen = Math.max(seen, about.serial);
  return 0;
}

/** Yields the bytes of a response: in one piece if the length is known, else in pieces as they arrive. */
async function* chunks(response) {
  if (response.headers.has('content-length')) {
    yield new Uint8Array(await response.arrayBuffer());
    return;
  }
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}
