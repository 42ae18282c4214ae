// Streamlit's own text box: whether an answer is about what stands in it.

import { fingerprint } from '../core/payload.js';
import { markStale, typing } from './stale.js';
import { keySelector } from './streamlit.js';

const BOX = keySelector('text'); // the widget
const SETTLE = [300, 1500]; // ms after a key or an answer when the box is looked at; Streamlit fills it in its own time
const LONGEST = 20_000; // ms; a text that nobody answered by then is not waited for

let box = null; // the input that was typed in
let patience = 0;
let looks = [];

/** The fingerprint of what stands in the box that was typed in; null if it has gone. */
export const boxText = () => (box?.isConnected ? fingerprint(box.value) : null);

/** Looks at the box in a while: Python may have put another text into it, what was typed may be gone, or the box. */
function lookLater() {
  for (const look of looks) clearTimeout(look);
  looks = SETTLE.map(delay =>
    setTimeout(() => {
      if (!typing.open) return;
      typing.answered(typing.last, boxText());
      markStale();
    }, delay),
  );
}

/** An answer about `text` came. */
export function acknowledgeText(text) {
  if (text === null) return;
  typing.answered(text, boxText());
  if (typing.open) lookLater();
}

/** Takes note of what is typed. */
export function onTextInput(event) {
  const target = event.composedPath()[0];
  if (!(target instanceof HTMLElement) || !target.closest(BOX)) return;
  box = target;
  typing.typed(fingerprint(box.value));
  lookLater();
  clearTimeout(patience);
  patience = setTimeout(() => {
    typing.forget();
    markStale();
  }, LONGEST);
  markStale();
}
