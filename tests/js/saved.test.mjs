import assert from 'node:assert/strict';
import { test } from 'node:test';
import { citedState, exportedStates, readSaved, withSaved } from '../../components/core/saved.js';

test('a state is saved under its name, once, and read again', () => {
  const one = withSaved([], ' First ', '?text=a');
  assert.deepEqual(one, [{ name: 'First', query: '?text=a' }]);
  const two = withSaved(withSaved(one, 'Second', '?text=b'), 'First', '?text=c');
  assert.deepEqual(two, [
    { name: 'Second', query: '?text=b' },
    { name: 'First', query: '?text=c' },
  ]);
  assert.deepEqual(readSaved(JSON.stringify(two)), two);
  assert.equal(withSaved(two, '  ', '?x'), two);
  assert.equal(
    withSaved(
      Array.from({ length: 100 }, (_, i) => ({ name: `${i}`, query: '' })),
      'new',
      '?',
    ).length,
    100,
  );
});

test('invalid content of the storage is ignored', () => {
  for (const text of [null, '', '{', '3', '{"a": 1}', 'null']) assert.deepEqual(readSaved(text), []);
  assert.deepEqual(readSaved('[{"name": 1}, null, {"name": "a", "query": "?b"}]'), [{ name: 'a', query: '?b' }]);
});

test('the file has a link for each state, and the citation has the link', () => {
  const file = JSON.parse(exportedStates([{ name: 'a', query: '?text=b' }], 'https://lab.example/'));
  assert.deepEqual(file, [{ name: 'a', link: 'https://lab.example/?text=b' }]);
  assert.equal(citedState('@x{url = {LINK}}', 'https://lab.example/?a={'), '@x{url = {https://lab.example/?a=%7B}}');
});
