// Copies a text to the clipboard.

import { make } from './dom.js';

/** Copies a text; returns whether this succeeded. Outside of `place`, an open dialog, nothing can get the focus. */
export async function toClipboard(text, place = document.body) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyOld(text, place); // the clipboard is missing on plain http or not permitted
  }
}

function copyOld(text, place) {
  const field = make('textarea', { value: text, style: { position: 'fixed', opacity: 0 }, 'aria-hidden': true });
  const root = /** @type {Document | ShadowRoot} */ (place.getRootNode());
  const focused = /** @type {HTMLElement} */ (root.activeElement);
  place.append(field);
  field.select();
  const done = document.execCommand('copy');
  field.remove();
  focused?.focus?.();
  return done;
}
