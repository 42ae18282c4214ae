"""Beam search: approximates the most probable outputs of a model with a few candidates per step.

    score(y) = ln P(y | x) / |y|,   |y| includes `end`      the mean over tokens, so that short texts are not preferred

At each step, every candidate of a text is continued by every token. The best `beam` continuations become the next
candidates; continuations that end in `end` are finished hypotheses. The search for a text is done if it has `beam`
finished hypotheses and no candidate has a better mean than the best of them, or if it has its largest length. With
`beam` = 1, this is greedy search. The function `step` computes the log-probabilities of the next token, for any model.
"""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass

import torch
from torch import Tensor

Step = Callable[[Tensor, Tensor], Tensor]
# Called before each step, so that an app can run shorter requests first. It may raise an error, which ends the search.
between_steps: ContextVar[Callable[[], None]] = ContextVar("between_steps", default=lambda: None)


@dataclass(frozen=True)
class Hypothesis:
    """A generated text: ids without `start`, with `end` if generated, and its log-probability in nats."""

    ids: tuple[int, ...]
    log_probability: float

    @property
    def score(self) -> float:
        """The mean log-probability per token."""
        return self.log_probability / max(1, len(self.ids))


def search(step: Step, longest: Sequence[int], beam: int, start: int, end: int) -> list[list[Hypothesis]]:
    """Returns the finished hypotheses of each text, the best first; the unfinished candidates if none was finished.

    `step` maps the last ids (R,) of R candidates, and the indices (R,) of the previous step's candidates that they
    continue, to log-probabilities (R, V). In the first call there is one candidate per text, with the indices 0, 1, ...
    `longest` counts `end`.
    """
    finished: list[list[Hypothesis]] = [[] for _ in longest]
    alive = list(range(len(longest)))  # indices of the texts that are not done
    written: list[list[tuple[tuple[int, ...], float]]] = [[((), 0.0)] for _ in longest]  # the candidates of each text
    parents, length = list(range(len(alive))), 0
    pause = between_steps.get()
    while alive:
        pause()
        length += 1
        rows = [written[text] for text in alive]
        last = torch.tensor([ids[-1] if ids else start for row in rows for ids, _ in row])
        log_probabilities = step(last, torch.tensor(parents))
        sums = torch.tensor([total for row in rows for _, total in row], dtype=torch.float64)
        totals = sums.unsqueeze(1) + log_probabilities.double()
        # The best 2 · beam tokens of each candidate contain the best 2 · beam of the text; up to half may be `end`.
        best, tokens = totals.topk(min(2 * beam, totals.shape[1]))
        best_list, token_list = best.tolist(), tokens.tolist()
        going, parents, offset = [], [], 0
        for text, row in zip(alive, rows, strict=True):
            options = sorted(((total, number, token) for number in range(len(row))
                              for total, token in zip(best_list[offset + number], token_list[offset + number],
                                                      strict=True)), key=lambda option: -option[0])
            kept: list[tuple[tuple[int, ...], float]] = []
            origins: list[int] = []
            for rank, (total, number, token) in enumerate(options):
                ids = (*row[number][0], token)
                if token == end:
                    if rank < beam:
                        finished[text].append(Hypothesis(ids, total))
                elif len(kept) < beam:
                    kept.append((ids, total))
                    origins.append(offset + number)
            offset += len(row)
            if length == longest[text] or not kept or _is_done(finished[text], kept[0][1] / length, beam):
                if not finished[text]:
                    finished[text] = [Hypothesis(*candidate) for candidate in kept]
                continue
            written[text] = kept
            going.append(text)
            parents += origins
        alive = going
    return [sorted(hypotheses, key=lambda hypothesis: -hypothesis.score) for hypotheses in finished]


def _is_done(finished: list[Hypothesis], best_mean: float, beam: int) -> bool:
    if beam == 1:
        return bool(finished)
    return len(finished) >= beam and max(hypothesis.score for hypothesis in finished) >= best_mean
