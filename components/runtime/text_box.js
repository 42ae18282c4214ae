// Tracks Streamlit's text box, to know whether an answer is about the text in it.

import { fingerprint } from '../core/payload.js';
import { markStale, typing } from './stale.js';
import { keySelector } from './streamlit.js';

const BOX = keySelector('text'); // selector of the text box
// ms after a key or an answer at which the box is checked; Streamlit updates it with a delay
const SETTLE = [300, 1500];
const LONGEST = 20_000; // ms after which an unanswered text is no longer waited for

let box = null; // the input element in which the visitor typed
let patience = 0;
let looks = [];

/** Returns the fingerprint of the text in the box; null if the box has left the page. */
export const boxText = () => (box?.isConnected ? fingerprint(box.value) : null);

/** Checks the box later: Python may have replaced the text, or the text or the box may be gone. */
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

/** Handles an answer about `text`. */
export function acknowledgeText(text) {
  if (text === null) return;
  typing.answered(text, boxText());
  if (typing.open) lookLater();
}

/** Records a text that is being typed. */
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
