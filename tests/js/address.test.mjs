// Tests of components/core/address.js: writes stay within the browser's limit, and the last address is always written.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAddressWriter } from '../../components/core/address.js';

/** Returns a browser with a simulated clock, {writer, written, pass(ms)}; writes throw if `refuses(count)` is true. */
function browser(refuses = () => false) {
  let [time, timers] = [0, []];
  const written = [];
  let count = 0;
  const writer = createAddressWriter({
    write: (address, isNew) => {
      count += 1;
      if (refuses(count)) throw new Error('SecurityError');
      written.push({ address, isNew, time });
    },
    now: () => time,
    later: (act, ms) => {
      const timer = { act, at: time + ms };
      timers.push(timer);
      return timer;
    },
    cancel: timer => {
      timers = timers.filter(other => other !== timer);
    },
  });
  const pass = ms => {
    for (const end = time + ms; time < end; ) {
      time += 1;
      const due = timers.filter(({ at }) => at <= time);
      timers = timers.filter(({ at }) => at > time);
      for (const { act } of due) act();
    }
  };
  return { writer, written, pass };
}

test('a change is written at once', () => {
  const { writer, written } = browser();
  writer.put('?a', false);
  writer.put('?b', true);
  assert.deepEqual(written, [
    { address: '?a', isNew: false, time: 0 },
    { address: '?b', isNew: true, time: 0 },
  ]);
  assert.equal(writer.waiting(), null);
});

test('no 30 s have more than 100 changes, and the last one is written', () => {
  const { writer, written, pass } = browser();
  for (let i = 0; i < 1500; i += 1) {
    writer.put(`?${i}`, i === 1400);
    pass(40);
  }
  pass(1000);
  assert.equal(written.at(-1).address, '?1499');
  assert.ok(written.some(({ isNew }) => isNew));
  for (const { time } of written)
    assert.ok(written.filter(other => other.time >= time && other.time < time + 30_000).length <= 100);
});

test('a refused change is written later', () => {
  const { writer, written, pass } = browser(count => count <= 3);
  writer.put('?a', true);
  writer.put('?b', false);
  assert.equal(writer.waiting(), '?b');
  pass(5000);
  assert.deepEqual(
    written.map(({ address, isNew }) => [address, isNew]),
    [['?b', true]],
  );
});

test('a dropped address is never written, and a flushed one at once', () => {
  const { writer, written, pass } = browser();
  for (let i = 0; i < 40; i += 1) writer.put(`?${i}`, false);
  assert.equal(writer.waiting(), '?39');
  writer.flush();
  assert.equal(written.at(-1).address, '?39');
  writer.put('?40', false);
  writer.drop();
  pass(5000);
  assert.equal(written.at(-1).address, '?39');
});
