// Sends events to the server's own route (app/route.py), which answers with new payloads without a run of the Streamlit
// script.

import { createSchedule, unpackBlocks } from '../core/direct.js';
import { unpack } from '../core/payload.js';

const LONGEST = 20_000; // ms after which a request is aborted

const schedule = createSchedule();
let page = { visit: null, direct: false }; // {visit, direct} of the newest payload from Streamlit
let seen = 0; // serial of the newest answer that was drawn completely
let isMissing = false; // whether this server has no events route
let timer = 0;

/** Records the visit and the direct flag of a payload from Streamlit. */
export function followVisit({ visit, direct }) {
  if (visit !== page.visit) seen = 0;
  page = { visit, direct: Boolean(direct) };
}

/** Returns whether events are sent to the route. */
export const isDirect = () => page.direct && !isMissing && schedule.isOpen(performance.now());

/** Returns the address of the route, below the app's path. */
const address = () => `${location.pathname.replace(/[^/]*$/, '')}lab/visits/${page.visit}/events`;

/**
 * Sends events as soon as the running requests allow it.
 *
 * `gather()` returns the waiting events of all components, in order. `draw(about, payloads)` draws an answer.
 * `refuse(isLost)` is called if the route does not answer (`isLost`: there is no connection), or leaves the drawing
 * to Streamlit.
 */
export function postEvents({ gather, draw, refuse }) {
  clearTimeout(timer);
  const delay = schedule.delay(performance.now());
  if (delay > 0) timer = setTimeout(() => postEvents({ gather, draw, refuse }), delay);
  else post({ gather, draw, refuse });
}

async function post({ gather, draw, refuse }) {
  const events = gather();
  if (!events.length) return;
  const visit = page.visit;
  const number = schedule.begin(performance.now());
  let isLost = true;
  try {
    const response = await fetch(address(), {
      method: 'POST',
      body: JSON.stringify({ seen, events }),
      signal: AbortSignal.timeout(LONGEST),
    });
    isLost = false;
    isMissing ||= response.status === 404 || response.status === 405;
    if (!response.ok) throw new Error(`status ${response.status}`);
    await read(response, payloads => {
      schedule.end(number); // the request ends here, because the late part of its answer must not delay other requests
      const [about, ...rest] = payloads;
      if (page.visit === visit && about) draw(about, rest);
    });
  } catch {
    schedule.fail(number, performance.now());
    refuse(isLost);
    return;
  }
  schedule.end(number);
  if (gather({ onlyNew: true }).length) postEvents({ gather, draw, refuse });
}

/**
 * Reads an answer and passes its payloads on: the first ones together as soon as they have arrived, then the late ones.
 */
async function read(response, hand) {
  let rest = new Uint8Array(0);
  let about = null;
  let waiting = [];
  for await (const chunk of chunks(response)) {
    const found = unpackBlocks(rest, chunk);
    rest = found.rest;
    waiting.push(...found.blocks.map(unpack));
    if (about === null && waiting.length > 0 && waiting.length > waiting[0].count) {
      about = waiting[0];
      hand(waiting);
      waiting = [];
    }
  }
  if (about && waiting.length) hand([about, ...waiting]);
  if (about && !about.layout) seen = Math.max(seen, about.serial);
}

/** Yields the bytes of an answer: at once if the length is known, else as they arrive. */
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
