// Colour scales, from assets/colours.json. The stops are close together and even in perceived lightness, so straight
// lines between them are enough.

const STEPS = 256;
const tables = new Map();

const channels = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));

/** 256 opaque pixels (Uint32, as putImageData wants them) of a scale: 'sequential' or 'diverging'. */
lab.table = (dark, scale) => {
  const key = `${dark} ${scale}`;
  if (!tables.has(key)) {
    const stops = lab.colours[dark ? 'dark' : 'light'][scale].map(channels);
    const pixels = new Uint8ClampedArray(4 * STEPS);
    for (let step = 0; step < STEPS; step += 1) {
      const at = (step / (STEPS - 1)) * (stops.length - 1);
      const low = Math.min(Math.floor(at), stops.length - 2);
      for (let c = 0; c < 3; c += 1)
        pixels[4 * step + c] = stops[low][c] + (at - low) * (stops[low + 1][c] - stops[low][c]);
      pixels[4 * step + 3] = 255;
    }
    tables.set(key, new Uint32Array(pixels.buffer));
  }
  return tables.get(key);
};

/** The CSS gradient of a scale, left to right. */
lab.gradient = (dark, scale) => `linear-gradient(90deg, ${lab.colours[dark ? 'dark' : 'light'][scale].join(', ')})`;

/** A scale's colour at `part`, 0 to 1, as CSS. */
lab.shade = (dark, scale, part) => {
  const pixel = lab.table(dark, scale)[Math.round(Math.min(1, Math.max(0, part)) * (STEPS - 1))];
  return `rgb(${pixel & 255} ${(pixel >> 8) & 255} ${(pixel >> 16) & 255})`;
};

/** Black or white, whichever reads better on a scale's colour at `part`. */
lab.ink = (dark, scale, part) => {
  const light = lab
    .shade(dark, scale, part)
    .match(/\d+/g)
    .map(v => (v / 255) ** 2.2);
  return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2] > 0.18 ? '#000' : '#fff';
};

/** Steps of the scale for a weight: the root spreads out the many small ones. */
lab.weightStep = (weight, most = 1) => Math.round(Math.sqrt(Math.min(1, Math.max(0, weight / most))) * (STEPS - 1));

/** Steps of the diverging scale for a difference, -most to most: rooted like weights, zero in the middle. */
lab.differenceStep = (value, most = 1) =>
  Math.round((0.5 + 0.5 * Math.sign(value) * Math.sqrt(Math.min(1, Math.abs(value / most)))) * (STEPS - 1));

/**
 * Paints a matrix into a canvas, one pixel a cell; cells that `step` gives undefined for stay clear.
 * @param {(i: number, j: number) => number | undefined} step row, column -> 0 to 255
 */
lab.paint = (canvas, rows, columns, table, step) => {
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext('2d');
  const image = context.createImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < rows; i += 1) {
    for (let j = 0; j < columns; j += 1) {
      const value = step(i, j);
      if (value !== undefined) pixels[i * columns + j] = table[value];
    }
  }
  context.putImageData(image, 0, 0);
};
