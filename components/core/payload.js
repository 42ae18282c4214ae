// Reads the payloads that payload.py packs; computes positions in packed matrices and fingerprints of texts.

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

/** Returns whether two arrays have the same `size` numbers from `start` on. */
export function sameBytes(one, other, start, size) {
  for (let i = start; i < start + size; i += 1) if (one[i] !== other[i]) return false;
  return true;
}

/** Returns (i, j) -> index in a matrix: a packed lower triangle if causal, else `columns` wide. */
export const cellIndex = (causal, columns) => (causal ? (i, j) => (i * (i + 1)) / 2 + j : (i, j) => i * columns + j);

const CRC = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** Returns a text's length in UTF-16 units and their CRC-32, as `fingerprint` in mounting.py. */
export function fingerprint(text) {
  let value = 0xffffffff;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    value = (value >>> 8) ^ CRC[(value ^ unit) & 255];
    value = (value >>> 8) ^ CRC[(value ^ (unit >> 8)) & 255];
  }
  return `${text.length}-${(value ^ 0xffffffff) >>> 0}`;
}
