import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { fitsQr, isDense, isOwnComputer, qrPicture } from '../../components/core/qr.js';

const FOLDER = new URL('../../app/static/', import.meta.url);
const { generate } = await import(
  new URL(
    readdirSync(FOLDER).find(name => name.startsWith('lean-qr-')),
    FOLDER,
  )
);
const LINK = 'https://example.org/?page=explore&text=';

/** Returns the dark modules of a path, as `x y`. */
function modules(path) {
  const found = new Set();
  for (const [, x, y, n] of path.matchAll(/M(\d+) (\d+)h(\d+)v1h-\3z/g))
    for (let i = 0; i < Number(n); i += 1) found.add(`${Number(x) + i} ${y}`);
  return found;
}

test('the path has the dark modules of the code, inside a white edge of four modules', () => {
  const code = generate(`${LINK}abc`);
  const { side, path } = qrPicture(code);
  assert.equal(side, code.size + 8);
  const dark = modules(path);
  for (let y = 0; y < side; y += 1)
    for (let x = 0; x < side; x += 1) assert.equal(dark.has(`${x} ${y}`), Boolean(code.get(x - 4, y - 4)), `${x} ${y}`);
  assert.ok(dark.has('4 4') && dark.size > 100);
});

test('the longest link that is said to fit has a code, and one more byte has none', () => {
  const longest = LINK.padEnd(2953, 'a~');
  assert.ok(fitsQr(longest) && isDense(generate(longest)));
  assert.ok(!fitsQr(`${longest}a`));
  assert.throws(() => generate(`${longest}a`));
  assert.ok(!fitsQr('好'.repeat(1000)));
  assert.ok(!isDense(generate(`${LINK}x%3D1&plan=self-0.1c`)));
});

test('addresses of this computer are told from those of a network', () => {
  for (const name of ['localhost', '127.0.0.1', '127.1.2.3', '[::1]', 'lab.localhost'])
    assert.ok(isOwnComputer(name), name);
  for (const name of ['192.168.1.7', 'example.org', '127.example.org', 'localhost.org', '[::2]'])
    assert.ok(!isOwnComputer(name), name);
});
