import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linkQuery } from '../../components/core/query.js';

test('a link ends in a letter or a digit, and means the same', () => {
  for (const text of ['He.', 'a - ', 'x_', '~', '...', '--- ', '', 'He said "no"...', '*a* _b_ ~c~']) {
    const query = linkQuery({ lesson: 'gates.1', text });
    assert.match(query, /[A-Za-z0-9]$/, text);
    assert.doesNotMatch(query, /[_*~]|\.\.|--/, text);
    assert.equal(new URLSearchParams(query).get('text'), text);
    assert.equal(new URLSearchParams(query).get('lesson'), 'gates.1');
  }
});
