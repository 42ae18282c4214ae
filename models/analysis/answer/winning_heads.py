"""Winning heads: the fewest heads whose removal, or whose constant pattern, makes a chosen token the most probable.

    margin(S) = ln p(token) - max over all other tokens of ln p        with the heads S pruned, or constant

The token wins if the margin is above 0. The search evaluates head sets of growing size: all single heads, all pairs if
the model has few heads, and from then on the best sets of one size, each with one more head (beam search). It stops at
the first size that has a winning set. Then heads of this set are left out again as long as the token still wins.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from models.analysis.gated_predictions import Gating
from models.analysis.minimal_heads import Turn
from models.errors import CancelledError

PAIRS = 640  # all pairs are evaluated if there are at most this many: up to 36 heads
SETS = 256  # number of head sets per size, from which the width of the beam follows
LARGEST = 16  # largest head set of the search


@dataclass
class Winning:
    """The result of the search."""

    gating: Gating  # predictions at one position under gates; a gate of 0 prunes a head or makes it constant
    token: int  # id of the chosen token
    # number of changed heads -> the best margin in nats, and the head set (heads,) of bool
    best: dict[int, tuple[float, Tensor]] = field(default_factory=dict)

    @property
    def fewest(self) -> int | None:
        """The size of the smallest set under which the token wins; None if no set was found."""
        return min((size for size, (margin, _) in self.best.items() if margin > 0), default=None)

    @property
    def nearest(self) -> int:
        """The size of the smallest winning set; without one, the size of the set with the largest margin."""
        return max(self.best, key=lambda size: self.best[size][0]) if self.fewest is None else self.fewest

    def margins(self, sets: Tensor) -> Tensor:
        """Returns the margins (S,) in nats with the heads of each set changed; `sets` is (S, heads) bool."""
        log_probabilities = self.gating.log_probabilities(1 - sets.float())[:, 0]
        others = log_probabilities.clone()
        others[:, self.token] = -torch.inf
        return log_probabilities[:, self.token] - others.max(-1).values


def search(gating: Gating, token: int, tell: Callable[[int, int], None] = lambda done, of: None,
           cancelled: Callable[[], bool] = lambda: False, turn: Turn = contextlib.nullcontext) -> Winning:
    """Returns the fewest heads under whose intervention the token wins; one step of `tell` is one size."""
    count = len(gating.heads)
    winning, largest = Winning(gating, token), min(count, LARGEST)
    beam = torch.zeros(1, count, dtype=torch.bool)
    _offer(winning, beam, cancelled, turn)
    for size in range(1, largest + 1):
        if winning.fewest is not None:
            break
        sets = _with_one_more(beam)
        margins = _offer(winning, sets, cancelled, turn)
        keeps_all = size == 1 and count * (count - 1) // 2 <= PAIRS
        width = len(sets) if keeps_all else max(2, SETS // count)
        beam = sets[margins.argsort(descending=True)[:width]]
        tell(size, largest)
    while winning.fewest:  # a head that a later head made superfluous is left out again
        size, (_, changed) = winning.fewest, winning.best[winning.fewest]
        _offer(winning, changed & ~torch.eye(count, dtype=torch.bool)[changed], cancelled, turn)
        if winning.fewest == size:
            break
    return winning


def _offer(winning: Winning, sets: Tensor, cancelled: Callable[[], bool], turn: Turn) -> Tensor:
    """Evaluates head sets of one size, stores the best of them if it is better than the stored one; returns margins."""
    margins = []
    for part in sets.split(winning.gating.rows):
        if cancelled():
            raise CancelledError
        with turn(), torch.no_grad():
            margins.append(winning.margins(part))
    result = torch.cat(margins)
    best, size = int(result.argmax()), int(sets[0].sum())
    if size not in winning.best or float(result[best]) > winning.best[size][0]:
        winning.best[size] = float(result[best]), sets[best].clone()
    return result


def _with_one_more(beam: Tensor) -> Tensor:
    """Returns the distinct head sets (S, heads) that have one head more than a set of the beam."""
    single = torch.eye(beam.shape[1], dtype=torch.bool)
    sets = torch.cat([kept | single[~kept] for kept in beam])
    return torch.unique(sets, dim=0)
