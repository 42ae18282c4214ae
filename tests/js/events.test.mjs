// Tests of components/runtime/events.js on a simulated network that delays and loses requests and responses: every
// event reaches the server once and in order, through the events route and through Streamlit.

import assert from 'node:assert/strict';
import { test } from 'node:test';

const nextTurn = setImmediate;
let [now, timers, seed] = [0, [], 1];
const random = count => (seed = (seed * 48271) % 2147483647) % count;
Object.assign(globalThis, {
  location: { pathname: '/' },
  setTimeout: (act, ms = 0, ...given) => timers[timers.push({ act: () => act(...given), at: now + ms }) - 1],
  clearTimeout: timer => {
    timers = timers.filter(other => other !== timer);
  },
});
performance.now = () => now;
AbortSignal.timeout = () => undefined; // the simulated network rejects lost requests itself
const events = await import('../../components/runtime/events.js');
const { followVisit } = await import('../../components/runtime/direct.js');
const { mounted } = await import('../../components/runtime/stale.js');

/** Lets `ms` of simulated time pass. */
async function pass(ms) {
  const end = now + ms;
  for (;;) {
    await new Promise(nextTurn);
    const next = timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
    if (!next) break;
    clearTimeout(next);
    now = Math.max(now, next.at);
    next.act();
  }
  now = end;
}

const packed = header => {
  const json = new TextEncoder().encode(JSON.stringify({ ...header, arrays: {} }));
  const bytes = new Uint8Array(8 + json.length);
  new DataView(bytes.buffer).setUint32(0, 4 + json.length, true);
  new DataView(bytes.buffer).setUint32(4, json.length, true);
  bytes.set(json, 8);
  return bytes;
};

const joined = (...parts) => Uint8Array.from(parts.flatMap(part => Array.from(part)));

/** Returns a server that handles events as Channel.receive does. `needsLayout()` makes it ask for a script run. */
function createServer(needsLayout = () => false) {
  const server = { log: [], received: {}, newest: 0, serial: 0 };
  server.receive = batch => {
    for (const { key, sequence, n } of batch.toSorted((a, b) => a.sequence - b.sequence)) {
      if (sequence <= (server.received[key] ?? 0)) continue;
      server.received[key] = sequence;
      server.newest = Math.max(server.newest, sequence);
      server.log.push(n);
    }
  };
  server.about = () => {
    server.serial += 1;
    const { serial, newest: answered } = server;
    return { serial, answered, visit: 'v', received: { ...server.received }, layout: needsLayout(), count: 0 };
  };
  return server;
}

/** Shows what a payload or a response includes, as component.js does. */
function show({ received, answered }) {
  for (const { key } of mounted) events.acknowledge(key, received[key] ?? 0);
  events.continueAfter(answered);
}

/**
 * Connects the page to a server. A number of `losses` in ten messages is lost on the way there or back. A `busy` server
 * refuses every third request, and asks for another one after the first payloads of every fifth.
 */
function connect(server, losses, blocked = false, busy = false) {
  let [pausedUntil, count] = [0, 0];
  const isLost = () => random(20) < losses.now;
  const delay = () => 5 + random(random(10) ? 60 : 900);
  globalThis.fetch = (_address, { body }) =>
    new Promise((answer, fail) => {
      if (blocked || isLost()) return void setTimeout(() => fail(new TypeError('lost')), delay());
      if (now < pausedUntil) server.early = now;
      count += 1;
      if (busy && count % 3 === 0) {
        const headers = new Headers({ 'retry-after-ms': '700' });
        return void setTimeout(() => {
          pausedUntil = now + 700;
          answer({ ok: false, status: 429, headers });
        }, delay());
      }
      const isPart = busy && count % 5 === 0;
      setTimeout(() => {
        server.receive(JSON.parse(body).events);
        const bytes = isPart ? joined(packed(server.about()), packed({ again: 700 })) : packed(server.about());
        const response = { ok: true, status: 200, headers: new Headers({ 'content-length': '1' }) };
        if (isLost()) setTimeout(() => fail(new TypeError('lost')), delay());
        else setTimeout(() => answer({ ...response, arrayBuffer: async () => bytes.buffer }), delay());
      }, delay());
    });
  mounted.clear();
  const trigger = (_name, batch) => {
    if (isLost()) return;
    const sent = JSON.parse(JSON.stringify(batch));
    setTimeout(() => {
      server.receive(sent);
      const about = server.about();
      if (!isLost()) setTimeout(() => show(about), delay());
    }, delay());
  };
  for (const key of ['bar', 'heads', 'map']) mounted.add({ key, trigger, parts: [] });
  events.onAnswer(show);
}

const CASES = {
  'the route': {},
  'a blocked route': { blocked: true },
  'a busy server': { busy: true },
  'a page of Streamlit': { direct: false },
};
for (const [name, { blocked = false, direct = true, busy = false }] of Object.entries(CASES))
  test(`a poor network loses nothing and changes no order: ${name}`, async () => {
    for (const rate of [0, 2, 6]) {
      const server = createServer(() => random(8) === 0);
      const losses = { now: rate };
      connect(server, losses, blocked, busy);
      followVisit({ visit: 'v', direct });
      for (let n = 0; n < 120; n += 1) {
        events.sendEvent(['bar', 'heads', 'map'][random(3)], { type: 'edit', n });
        await pass(random(4) ? 30 : random(400));
      }
      losses.now = 0;
      await pass(rate ? 60_000 : 9000);
      assert.equal(server.early, undefined, 'a request before the pause is over');
      assert.deepEqual(
        server.log,
        Array.from({ length: 120 }, (_, n) => n),
      );
      for (const { key } of mounted) assert.deepEqual(events.waitingOf(key), []);
    }
  });

test('a minute without a connection: all events arrive within 5 s of its return', async () => {
  const server = createServer();
  const losses = { now: 20 };
  connect(server, losses);
  followVisit({ visit: 'v', direct: true });
  for (let n = 0; n < 30; n += 1) {
    events.sendEvent('heads', { type: 'edit', n });
    await pass(2000);
  }
  assert.deepEqual(server.log, []);
  losses.now = 0;
  await pass(5000);
  assert.deepEqual(
    server.log,
    Array.from({ length: 30 }, (_, n) => n),
  );
});

test('events of an ended session are sent once and in order to the next one, which has drawn their component', async () => {
  const losses = { now: 20 };
  connect(createServer(), losses);
  followVisit({ visit: 'v', direct: true });
  for (const [n, key] of ['heads', 'bar', 'heads', 'map'].entries()) events.sendEvent(key, { type: 'edit', n });
  await pass(100);
  const server = createServer();
  losses.now = 0;
  connect(server, losses);
  const [bar, heads, map] = mounted;
  mounted.delete(map);
  events.restartSession();
  followVisit({ visit: 'w', direct: true });
  // the header comes first; the heads are still the ended session's, and leave the page before they come again
  events.acknowledge('bar', 0);
  events.sendUnhandled();
  for (const [n, { key }] of [heads, bar].entries()) events.sendEvent(key, { type: 'edit', n: 4 + n });
  mounted.delete(heads);
  events.dropEvents('heads');
  events.continueSession();
  events.sendUnhandled();
  await pass(5000);
  assert.deepEqual(server.log, []);
  mounted.add(heads);
  events.acknowledge('heads', 0);
  events.sendUnhandled();
  await pass(2000);
  assert.deepEqual(server.log, [0, 1, 2, 4, 5]);
  mounted.add(map);
  events.sendUnhandled();
  events.sendUnhandled();
  await pass(5000);
  assert.deepEqual(server.log, [0, 1, 2, 4, 5, 3]);
});

test('another page of a new session does not block events for longer than 10 s', async () => {
  const server = createServer();
  connect(server, { now: 0 });
  followVisit({ visit: 'v', direct: true });
  events.restartSession();
  events.acknowledge('bar', 0);
  events.sendEvent('bar', { type: 'edit', n: 0 });
  await pass(9000);
  assert.deepEqual(server.log, []);
  await pass(1500);
  events.sendUnhandled();
  await pass(1000);
  assert.deepEqual(server.log, [0]);
});

test('an event goes to the server at once, although events of a component that has left were not handled', async () => {
  const server = createServer();
  const { receive } = server;
  server.receive = batch => receive(batch.filter(({ key }) => key !== 'map')); // the new page has no such component
  connect(server, { now: 0 });
  followVisit({ visit: 'v', direct: true });
  events.sendEvent('heads', { type: 'page', n: 0 });
  events.sendEvent('map', { type: 'edit', n: 1 });
  await pass(1000);
  events.dropEvents('map');
  followVisit({ visit: 'v', direct: false });
  events.sendEvent('heads', { type: 'page', n: 2 });
  await pass(2500);
  assert.deepEqual(server.log, [0, 2]);
});
