// What the player of selective attention says. `memory` is {tokens, selected (S, packed), mask (F of lab.accumulate)}.

const LEAST = 0.005; // of S, which would be written as 0.00
const MOST = 3; // tokens that are named at once

/** Tokens and how strongly each asks or is asked to be forgotten, strongest first; empty where nothing is. */
const strongest = (tokens, pairs) =>
  pairs
    .filter(([, strength]) => strength > LEAST)
    .sort((one, other) => other[1] - one[1])
    .slice(0, MOST)
    .map(([index, strength]) => `${lab.quoted(tokens[index])} (S ${strength.toFixed(2)})`)
    .join(', ');

/** What the token of query `t` asks to forget. */
lab.asksToForget = ({ tokens, selected }, t) => {
  const place = lab.place(true);
  const token = lab.quoted(tokens[t]);
  const others = strongest(
    tokens,
    Array.from({ length: t + 1 }, (_, j) => [j, selected[place(t, j)]]),
  );
  return others
    ? lab._('{token} asks to forget {others}', { token, others })
    : lab._('{token} asks to forget nothing', { token });
};

/** Who asked to forget token `j`, of those who have been read up to query `t`, and what the next query has left of it. */
lab.forgottenBy = ({ tokens, selected, mask }, t, j) => {
  const place = lab.place(true);
  const token = lab.quoted(tokens[j]);
  if (j > t) return lab._('{token} has not been read yet', { token });
  const others = strongest(
    tokens,
    Array.from({ length: t + 1 - j }, (_, k) => [k + j, selected[place(k + j, j)]]),
  );
  if (!others) return lab._('{token}: nothing was forgotten', { token });
  const left = lab.percent(1 - lab.forgotten(mask[(t + 1) * tokens.length + j]));
  return lab._('forgotten: {token} by {others}: {left} left', { token, others, left });
};
