// Unpacks the payloads of payload.py, and computes positions in packed matrices.

const TYPES = { uint8: Uint8Array, int32: Int32Array, float32: Float32Array, float64: Float64Array };

/** Returns {...header, arrays: {name: {data, shape}}} of a payload. */
export function unpack(bytes) {
  // a copy, because Streamlit passes a view into its message at any offset and typed arrays need an aligned start
  const blob = bytes.slice();
  const length = new DataView(blob.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(blob.subarray(4, 4 + length)));
  const start = Math.ceil((4 + length) / 8) * 8;
  for (const [name, { dtype, shape, offset }] of Object.entries(header.arrays)) {
    const count = shape.reduce((product, side) => product * side, 1);
    header.arrays[name] = { data: new TYPES[dtype](blob.buffer, start + offset, count), shape };
  }
  return header;
}

/** Returns a payload with the changes of a newer one; one without `changes` is whole, else they name what to remove. */
export function merged(old, payload) {
  if (!payload.changes) return payload;
  const { changes, arrays, ...header } = payload;
  const whole = { ...old, ...header, arrays: { ...old.arrays, ...arrays } };
  for (const [where, name] of changes) delete (where === 'array' ? whole.arrays : whole)[name];
  return whole;
}

/** Returns whether two arrays have the same `size` numbers from `start` on. */
export function sameBytes(one, other, start, size) {
  for (let i = start; i < start + size; i += 1) if (one[i] !== other[i]) return false;
  return true;
}

/** Returns a function (i, j) -> index in a matrix: a packed lower triangle if causal, else rows of `columns` values. */
export const cellIndex = (causal, columns) => (causal ? (i, j) => (i * (i + 1)) / 2 + j : (i, j) => i * columns + j);
