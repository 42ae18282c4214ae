// Tests of components/core/direct.js: responses of the events route, and the time of the next request.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSchedule, unpackBlocks } from '../../components/core/direct.js';

const block = text => {
  const bytes = new TextEncoder().encode(text);
  const whole = new Uint8Array(4 + bytes.length);
  new DataView(whole.buffer).setUint32(0, bytes.length, true);
  whole.set(bytes, 4);
  return whole;
};
const join = parts => Uint8Array.from(parts.flatMap(part => Array.from(part)));
const read = bytes => new TextDecoder().decode(bytes);

test('blocks are the same however a response is split into chunks', () => {
  const answer = join([block('about'), block(''), block('a longer payload')]);
  for (let size = 1; size <= answer.length; size += 1) {
    let rest = new Uint8Array(0);
    const found = [];
    for (let at = 0; at < answer.length; at += size) {
      const next = unpackBlocks(rest, answer.subarray(at, at + size));
      found.push(...next.blocks.map(read));
      rest = next.rest;
    }
    assert.deepEqual(found, ['about', '', 'a longer payload']);
    assert.equal(rest.length, 0);
  }
});

test('one request at a time, unless it takes long', () => {
  const schedule = createSchedule();
  assert.equal(schedule.delay(0), 0);
  const first = schedule.begin(0);
  assert.equal(schedule.delay(10), 140);
  assert.equal(schedule.delay(150), 0);
  schedule.begin(150);
  assert.equal(schedule.delay(160), 140);
  schedule.end(first);
  assert.equal(schedule.delay(160), 140);
});

test('after a failure the route is not used for a while', () => {
  const schedule = createSchedule();
  assert.ok(schedule.isOpen(0));
  schedule.fail(schedule.begin(0), 100);
  assert.ok(!schedule.isOpen(3000) && schedule.isOpen(3101));
  assert.equal(schedule.delay(200), 0);
});
