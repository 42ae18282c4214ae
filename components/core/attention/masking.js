// Sentences for the player of selective attention. `memory` is {tokens, selected (scores S, packed), mask (the
// selective mask F, accumulated votes, from accumulateMask)}.

import { formatPercent, quoteToken } from '../format.js';
import { cellIndex } from '../payload.js';
import { _ } from '../texts.js';
import { maskedShare } from './pattern.js';

const LEAST = 0.005; // smallest S that a sentence mentions; a smaller value would be printed as 0.00
const MOST = 3; // largest number of tokens in a sentence

/** Returns the list of tokens with their S, largest first; empty if all S are below LEAST. */
const strongest = (tokens, pairs) =>
  pairs
    .filter(([, strength]) => strength > LEAST)
    .sort((one, other) => other[1] - one[1])
    .slice(0, MOST)
    .map(([index, strength]) => `${quoteToken(tokens[index])} (S ${strength.toFixed(2)})`)
    .join(', ');

/** Returns the sentence that lists the keys which query `t` masks. */
export function maskingSentence({ tokens, selected }, t) {
  const place = cellIndex(true);
  const token = quoteToken(tokens[t]);
  const others = strongest(
    tokens,
    Array.from({ length: t + 1 }, (_, j) => [j, selected[place(t, j)]]),
  );
  return others ? _('{token} masks {others}', { token, others }) : _('{token} masks no token', { token });
}

/** Returns the sentence that lists the queries up to `t` which mask token `j`, and the weight left for query t + 1. */
export function maskedSentence({ tokens, selected, mask }, t, j) {
  const place = cellIndex(true);
  const token = quoteToken(tokens[j]);
  if (j > t) return _('{token} has not been read yet', { token });
  const others = strongest(
    tokens,
    Array.from({ length: t + 1 - j }, (_, k) => [k + j, selected[place(k + j, j)]]),
  );
  if (!others) return _('{token} is not masked', { token });
  const left = formatPercent(1 - maskedShare(mask[(t + 1) * tokens.length + j]));
  return _('{token} is masked by {others}: {left} of its weight left', { token, others, left });
}
