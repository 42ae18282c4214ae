// Keys of the Lab on any keyboard.

// Letters by the place of the key, for keyboards whose letters are not Latin.
const CODES = {
  KeyC: 'c',
  KeyP: 'p',
  KeyR: 'r',
  KeyZ: 'z',
  Equal: '+',
  NumpadAdd: '+',
  Minus: '-',
  NumpadSubtract: '-',
  BracketLeft: '[',
  BracketRight: ']',
  Slash: '/',
};

/** Returns the key of an event in lower case; on keyboards without Latin letters, that of the same place. */
export function keyOf({ key, code, shiftKey }) {
  const written = (key ?? '').toLowerCase();
  if (/^[ -~]$/.test(written) || written.length > 1) return written;
  if (code === 'Slash' && shiftKey) return '?';
  return CODES[code] ?? written;
}
