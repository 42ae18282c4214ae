import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  coloursOf,
  colourTable,
  colourTicks,
  contrastColour,
  cssColour,
  cssGradient,
  differenceStep,
  emptyStep,
  isLinear,
  matrixPixels,
  scaleName,
  tileSteps,
  weightStep,
} from '../../components/core/attention/scales.js';
import { fixture } from './harness.mjs';

const scales = fixture('scales');

test('a weight has the square root of its place on the scale', () => {
  scales.weights.forEach((weight, i) => {
    assert.ok(Math.abs(weightStep(weight) - scales.weight_steps[i]) <= 0.5001, `${weight}`);
    assert.equal(weightStep(3 * weight, 3), weightStep(weight));
  });
});

test('a difference of 0 is in the middle of the scale, negative ones are on the left', () => {
  scales.changes.forEach((change, i) =>
    assert.ok(Math.abs(differenceStep(change, 2) - scales.change_steps[i]) <= 0.5001, `${change}`),
  );
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
    });
  }
});

test('a linear scale has the colours in proportion to the weights', () => {
  for (const difference of [false, true]) {
    const [root, linear] = ['root', 'linear'].map(shading => scaleName(difference, shading));
    for (const weight of difference ? [-1, -0.5, -0.1, 0, 0.3, 1] : [0, 0.02, 0.25, 0.5, 1]) {
      const step = difference ? differenceStep(weight) : weightStep(weight);
      const part = difference ? (weight + 1) / 2 : weight; // the place of the weight on the colours
      const channelsOf = css => css.match(/\d+/g).map(Number);
      const found = channelsOf(cssColour(true, linear, step / 255));
      const expected = channelsOf(cssColour(true, root, part));
      found.forEach((value, c) => assert.ok(Math.abs(value - expected[c]) <= 3, `${linear} ${weight}: ${found}`));
    }
    assert.equal(coloursOf(linear), root);
    assert.equal(cssGradient(true, linear), cssGradient(true, root)); // the bar has the colours, the ticks differ
    assert.equal(emptyStep(linear), difference ? 128 : 0);
    assert.deepEqual([root, linear].map(isLinear), [false, true]);
  }
});

test('text has enough contrast on every colour', () => {
  const luminance = ([r, g, b]) =>
    [r, g, b]
      .map(v => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4))
      .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  for (const dark of [false, true])
    for (let step = 0; step < 256; step += 1) {
      for (const scale of ['sequential-linear', 'diverging-linear']) {
        const ground = luminance(
          cssColour(dark, scale, step / 255)
            .match(/\d+/g)
            .map(Number),
        );
        const white = contrastColour(dark, scale, step / 255) === '#fff';
        assert.ok((white ? 1.05 / (ground + 0.05) : (ground + 0.05) / 0.05) >= 4.5, `${scale} ${step}`);
      }
    }
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
    const table = colourTable(false, 'sequential');
    tiles.tiles.forEach((map, index) => {
      const steps = tileSteps(tiles.packed, index, tiles);
      const pixels = matrixPixels(tiles.rows, tiles.columns, table, steps);
      map.forEach((row, i) =>
        row.forEach((step, j) =>
          assert.equal(pixels[i * tiles.columns + j], tiles.causal && j > i ? 0 : table[step], `${index} ${i} ${j}`),
        ),
      );
    });
  });

test('ticks are at the positions of their numbers', () => {
  for (const most of [1, 0.37, 12]) {
    for (const { at, label } of colourTicks(most, false))
      assert.ok(Math.abs(weightStep(Number(label), most) - 255 * at) < 4, `${most} ${label}`);
    for (const { at, label } of colourTicks(most, true))
      assert.ok(Math.abs(differenceStep(Number(label.replace('−', '-')), most) - 255 * at) < 4, `${most} ${label}`);
    for (const difference of [false, true])
      for (const { at, label } of colourTicks(most, difference, 'linear')) {
        const part = Number(label.replace('−', '-')) / most;
        assert.ok(Math.abs((difference ? (part + 1) / 2 : part) - at) < 0.015, `${most} ${label} ${at}`);
      }
  }
});
