import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  colourTable,
  contrastColour,
  cssColour,
  hexColour,
  matrixPixels,
  weightStep,
} from '../../components/core/attention/scales.js';
import { tileBytes } from '../../components/core/stage/weights.js';
import { fixture } from './harness.mjs';

const scales = fixture('scales');

test('a weight is drawn with the square root of its share of the scale', () => {
  for (let step = 0; step < 256; step += 1) assert.equal(weightStep((step / 255) ** 2), step);
  assert.deepEqual([-1, 2].map(weightStep), [0, 255]);
});

test('the colour of each step, in both themes', () => {
  for (const [name, expected] of Object.entries(scales.colours)) {
    const [theme, scale] = name.split(' ');
    const table = colourTable(theme === 'dark', scale);
    expected.forEach((channels, step) => {
      const pixel = table[step];
      const actual = [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255];
      actual.forEach((value, c) => assert.ok(Math.abs(value - channels[c]) <= 0.5001, `${name} ${step}: ${actual}`));
      assert.equal(pixel >>> 24, 255);
      assert.equal(cssColour(theme === 'dark', scale, step / 255), `rgb(${actual.join(' ')})`);
      const hex = actual.map(value => value.toString(16).padStart(2, '0')).join('');
      assert.equal(hexColour(theme === 'dark', scale, step), `#${hex}`);
    });
  }
});

test('text has enough contrast on every colour', () => {
  const luminance = ([r, g, b]) =>
    [r, g, b]
      .map(v => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4))
      .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  for (const [name, expected] of Object.entries(scales.colours)) {
    const [theme, scale] = name.split(' ');
    expected.forEach((channels, step) => {
      const ground = luminance(channels);
      const white = contrastColour(theme === 'dark', scale, step / 255) === '#fff';
      const contrast = white ? 1.05 / (ground + 0.05) : (ground + 0.05) / 0.05;
      assert.ok(contrast >= 4.5, `${name} ${step}: ${contrast}`);
    });
  }
});

for (const [name, tiles] of Object.entries(fixture('tiles')))
  test(`${name}: thumbnails become pixels of the scale, unseen cells stay clear`, () => {
    const table = colourTable(false, 'attention');
    const kind = { packed: tiles.causal, causal: tiles.causal, side: [tiles.rows, tiles.columns] };
    tiles.tiles.forEach((map, index) => {
      const pixels = matrixPixels(tiles.rows, tiles.columns, table, tileBytes(kind, tiles.packed, index));
      map.forEach((row, i) =>
        row.forEach((step, j) =>
          assert.equal(pixels[i * tiles.columns + j], tiles.causal && j > i ? 0 : table[step], `${index} ${i} ${j}`),
        ),
      );
    });
  });
