// The page Training: one moment of a training in the form of the Lab's payload, and the slider over the moments.

/** Returns the payload of the Lab's picture for one moment of a training. */
export function pictureData({ picture, moments, arrays, large }, index) {
  const { heads, mlps } = moments[index];
  const size = arrays.patterns.shape[1];
  const own = {
    'tiles.self': { data: arrays.patterns.data.subarray(index * size, (index + 1) * size) },
    'stubs.self': { data: Float32Array.from(heads.flat()) },
    'stubs.mlp': { data: Float32Array.from(mlps) },
  };
  return { ...picture, ...moments[index], large, arrays: own };
}

/** Returns the selection of the head that pushes most directly for the answer of a moment. */
export function strongestHead({ heads }) {
  const values = heads.flat();
  const head = values.indexOf(Math.max(...values));
  return { kind: 'self', layer: Math.floor(head / heads[0].length), head: head % heads[0].length, scope: 'head' };
}

/** Returns the index of the moment nearest to a step; `curve` is a list of [step, accuracy]. */
export const nearestMoment = (curve, step) =>
  curve.reduce((best, [at], i) => (Math.abs(at - step) < Math.abs(curve[best][0] - step) ? i : best), 0);

/** Returns the index that a key of the slider goes to; undefined for other keys. */
export function momentOfKey(key, index, count) {
  const to = { ArrowRight: index + 1, ArrowUp: index + 1, ArrowLeft: index - 1, ArrowDown: index - 1, Home: 0 };
  if (key === 'End') return count - 1;
  return key in to ? Math.max(0, Math.min(count - 1, to[key])) : undefined;
}

/** Returns the functions from a step and from an accuracy to px of a curve with these edges. */
export const curveScale = ({ left, right, top, bottom }, steps) => ({
  x: step => left + (step / steps) * (right - left),
  y: accuracy => bottom - accuracy * (bottom - top),
});
