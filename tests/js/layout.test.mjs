import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tipPosition } from '../../components/core/attention/layout.js';

test('a tip is below its word, or above it without room below, and always in the window', () => {
  const screen = { width: 400, height: 300 };
  const size = { width: 100, height: 50 };
  const word = (left, top) => ({ left, top, bottom: top + 20, width: 40 });
  assert.deepEqual(tipPosition(word(150, 100), size, screen), { left: 120, top: 126 });
  assert.deepEqual(tipPosition(word(150, 270), size, screen), { left: 120, top: 214 });
  assert.deepEqual(tipPosition(word(0, 100), size, screen), { left: 6, top: 126 });
  assert.deepEqual(tipPosition(word(380, 100), size, screen), { left: 294, top: 126 });
  assert.equal(tipPosition(word(150, 20), { width: 100, height: 280 }, screen).top, 6);
});
