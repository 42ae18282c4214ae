// Computes positions of tips.

const GAP = 6; // gap in px between a word and its tip, and between a tip and the window's edge

/** Returns {left, top} of a tip in px of the window: under the word if there is room, else above the word. */
export function tipPosition(word, { width, height }, screen) {
  const centred = word.left + word.width / 2 - width / 2;
  const left = Math.max(GAP, Math.min(screen.width - width - GAP, centred));
  const under = word.bottom + GAP;
  const fits = under + height + GAP <= screen.height;
  return { left, top: fits ? under : Math.max(GAP, word.top - GAP - height) };
}
