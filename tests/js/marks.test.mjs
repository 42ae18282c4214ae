// Tests of components/core/picture/marks.js: colours, dashes and shapes of models.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pageData } from '../../components/core/page_data.js';
import { dashAttributes, marker, seriesColour } from '../../components/core/picture/marks.js';
import './harness.mjs';

test('a model has its colour in both themes; after the last colour the first follows', () => {
  const { light, dark } = pageData.colours;
  assert.equal(seriesColour(1, { dark: false }), light.series[1]);
  assert.equal(seriesColour(1, { dark: true }), dark.series[1]);
  assert.equal(seriesColour(light.series.length + 2, { dark: false }), light.series[2]);
});

test('a line has dashes and a shape by the same index', () => {
  assert.deepEqual([0, 1, 7].map(dashAttributes), [{}, { 'stroke-dasharray': '7 4' }, { 'stroke-dasharray': '7 4' }]);
  const [tag, { transform, d, fill }] = marker(7, 3, 4.5, { fill: 'red' });
  assert.deepEqual([tag, transform, fill], ['path', 'translate(3 4.5)', 'red']);
  assert.equal(d, marker(1, 0, 0, {})[1].d);
  assert.notEqual(d, marker(2, 0, 0, {})[1].d);
});
