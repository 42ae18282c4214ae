/**
 * Letters of keys, for shortcuts.
 */

/**
 * Returns the letter or sign of a key event in lower case. On a keyboard without Latin letters, and while an input
 * method is on, it is the letter printed on the key of a US keyboard.
 */
export function letterOf({ key, code }) {
  const isLatin = key === undefined || /^[\x20-\x7e]+$/.test(key);
  const physical = /^Key([A-Z])$/.exec(code ?? '');
  return (physical && (!isLatin || key === 'Process' || key === 'Unidentified') ? physical[1] : key)?.toLowerCase();
}
