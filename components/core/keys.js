// Letters of keys, for shortcuts on any keyboard.

// Signs by the place of the key, for keyboards that write other signs there.
const SIGNS = {
  Equal: '+',
  NumpadAdd: '+',
  Minus: '-',
  NumpadSubtract: '-',
  BracketLeft: '[',
  BracketRight: ']',
  Slash: '/',
};

/** Returns the letter or sign of a key event in lower case, as a US keyboard has it where a keyboard is not Latin. */
export function letterOf({ key, code, shiftKey }) {
  const isRead = key === undefined || (/^[ -~]+$/.test(key) && key !== 'Process' && key !== 'Unidentified');
  if (isRead) return key?.toLowerCase();
  if (code === 'Slash' && shiftKey) return '?';
  const letter = /^Key([A-Z])$/.exec(code ?? '')?.[1];
  return (letter ?? SIGNS[code] ?? key).toLowerCase();
}
