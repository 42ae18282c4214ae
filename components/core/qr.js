// The picture of a QR code, and whether a link fits in one.

const MOST_BYTES = 2953; // bytes of the largest QR code, of 177 modules a side
const DENSE = 97; // modules a side from which a code on a projector can be scanned only from the first rows
const QUIET = 4; // modules of the white edge that scanners need

/** Returns whether a link fits in a QR code. */
export const fitsQr = link => new TextEncoder().encode(link).length <= MOST_BYTES;

/** Returns whether the modules of a code are small. */
export const isDense = ({ size }) => size > DENSE;

/** Returns {side, path}: the side in modules with the white edge, and the dark modules as an SVG path. */
export function qrPicture({ size, get }) {
  let path = '';
  for (let y = 0; y < size; y += 1)
    for (let x = 0; x < size; x += 1) {
      const from = x;
      while (x < size && get(x, y)) x += 1;
      if (x > from) path += `M${from + QUIET} ${y + QUIET}h${x - from}v1h-${x - from}z`;
    }
  return { side: size + 2 * QUIET, path };
}

/** Returns whether only this computer can open addresses of a host. */
export const isOwnComputer = hostname => /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
