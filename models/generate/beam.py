"""Beam search: approximates the most probable outputs of a model with a few candidates per step.

    score(y) = ln P(y | x) / |y|,   |y| with its end        the mean over tokens, so that long texts are not put last

At each step every candidate of a text is continued by every token; the best `beam` go on, those among them that end
are put by. A text is done when as many have ended as there are candidates and none that goes on has a better mean so
far than the best of them, or at its longest. With one candidate it is greedy search. `step` gives the log-probabilities
of the next token, whatever the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

Step = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Hypothesis:
    """A text that was written.

    Attributes:
        ids: without `start`; with `end` where it ended.
        log_probability: of all of it, nats.
    """

    ids: tuple[int, ...]
    log_probability: float

    @property
    def score(self) -> float:
        """Mean log-probability of a token."""
        return self.log_probability / max(1, len(self.ids))


def search(step: Step, longest: Sequence[int], beam: int, start: int, end: int) -> list[list[Hypothesis]]:
    """For each text its finished hypotheses, the best first; one that did not end if none did.

    Args:
        step: (R,) the last ids of R candidates and (R,) which candidates of the step before they continue -> (R, V)
            log-probabilities of the next token. At first there is one candidate a text, continuing candidate 0, 1, ...
        longest: most tokens of each text, `end` included.
        beam: candidates a text.
    """
    finished: list[list[Hypothesis]] = [[] for _ in longest]
    alive = list(range(len(longest)))  # texts that are not done
    written: list[list[tuple[tuple[int, ...], float]]] = [[((), 0.0)] for _ in longest]  # candidates by text
    parents, length = list(range(len(alive))), 0
    while alive:
        length += 1
        rows = [written[text] for text in alive]
        last = torch.tensor([ids[-1] if ids else start for row in rows for ids, _ in row])
        log_probabilities = step(last, torch.tensor(parents))
        sums = torch.tensor([total for row in rows for _, total in row], dtype=torch.float64)
        totals = sums.unsqueeze(1) + log_probabilities.double()
        # Of each candidate the best 2 · beam tokens hold the best 2 · beam of the text, of which half may be ends.
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
    return [sorted(found, key=lambda hypothesis: -hypothesis.score) for found in finished]


def _is_done(finished: list[Hypothesis], best_mean: float, beam: int) -> bool:
    if beam == 1:
        return bool(finished)
    return len(finished) >= beam and max(hypothesis.score for hypothesis in finished) >= best_mean
