"""What a text needs: the fewest heads that keep a model's prediction, by gates learned on frozen weights.

    minimise  KL(untouched ‖ gated) + strength · sum over heads of P(gate > 0)

with one Hard Concrete gate a head (models/nets/hard_concrete.py; Louizos et al. 2018, Voita et al. 2019), for one
text, in seconds. The strength grows from step to step, so that heads close one after another, the least needed first.
On the way, sets of the heads whose gates are most open are tried with gates of 0 and 1, and the best set of each size
is kept: a curve of KL against the number of heads. At the end each head of the answer is tried once more: those that
the bound can spare, and one for another of those outside.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from models.analysis.gated_predictions import Gating
from models.errors import CancelledError
from models.generate.sampling import generator
from models.nets import hard_concrete

STEPS = 80
TOKENS = 80  # in one step, all draws together, as far as 4 to 8 draws allow
INITIAL = 2.0  # ln a of each gate: P(gate > 0) = 0.94
RATE = 0.2  # Adam's, of ln a
WEAKEST, STRONGEST = 0.02, 4.0  # strengths at the first and at the last step, in units of KL(all closed) / heads
LOOK = 8  # steps between two looks at sets
SETS = 32  # that are tried at a look
EXCHANGES = 160  # sets that are tried for an exchange of one head
BOUND = 0.1  # nats
STREAM = 78  # of the gates' random numbers

Turn = Callable[[], contextlib.AbstractContextManager[None]]


@dataclass
class Curve:
    """The best set found of each size.

    Attributes:
        found: number of open heads -> KL in nats, and (heads,) bool, True for those that stay.
    """

    gating: Gating
    found: dict[int, tuple[float, Tensor]] = field(default_factory=dict)

    def offer(self, sets: Tensor) -> Tensor:
        """Tries (S, heads) bool sets, keeps those that are better than what is there; (S,) their KL."""
        if not len(sets):  # a model of one head has no set between all and none
            return torch.empty(0)
        divergences = self.gating.in_parts(self.gating.divergence, sets.float())
        for stays, divergence in zip(sets, divergences.tolist(), strict=True):
            size = int(stays.sum())
            if size not in self.found or divergence < self.found[size][0]:
                self.found[size] = (divergence, stays.clone())
        return divergences

    def fewest(self, bound: float) -> int:
        """The smallest number of heads that is known to keep the KL within `bound` nats."""
        return min((size for size, (divergence, _) in self.found.items() if divergence <= bound),
                   default=len(self.gating.heads))  # rounding: not even all of them, at a bound of 0


def learn(gating: Gating, tokens: int, seed: int = 0, steps: int = STEPS,
          tell: Callable[[int, int], None] = lambda done, of: None, cancelled: Callable[[], bool] = lambda: False,
          turn: Turn = contextlib.nullcontext) -> Curve:
    """The curve of one text as gates alone find it; `polish` makes it best at a bound.

    Args:
        tokens: of the text, which decide how many draws a step has.
        tell: told how many of how many steps are done.
        cancelled: asked before each step.
        turn: taken around each step, where others wait for theirs.

    Raises:
        CancelledError: `cancelled` said so.
    """
    count = len(gating.heads)
    curve = Curve(gating)
    with turn():
        ends = curve.offer(torch.stack((torch.ones(count), torch.zeros(count))).bool())
    unit = max(float(ends[1]), 1e-6) / count
    log_a = torch.full((count,), INITIAL, requires_grad=True)
    optimiser = torch.optim.Adam([log_a], lr=RATE)
    draws = 2 * max(2, min(4, TOKENS // tokens // 2))
    for step in range(steps):
        if cancelled():
            raise CancelledError
        with turn():
            strength = unit * WEAKEST * (STRONGEST / WEAKEST) ** (step / max(1, steps - 1))
            gates = hard_concrete.quantile(log_a, _in_pairs(draws, count, generator(STREAM, seed, step)))
            log_a.grad = _gradient(gating, gates, log_a, strength)
            optimiser.step()
            if (step + 1) % LOOK == 0 or step + 1 == steps:
                curve.offer(_most_open(log_a.detach(), SETS))
        tell(step + 1, steps)
    return curve


def polish(curve: Curve, bound: float = BOUND, cancelled: Callable[[], bool] = lambda: False,
           turn: Turn = contextlib.nullcontext) -> Curve:
    """The same curve, with each head of the answer at `bound` nats tried once more; the other arguments as in
    `learn`.
    """
    while True:
        if cancelled():
            raise CancelledError
        with turn():
            if not _spared(curve, bound) and not _exchanged(curve, bound):
                return curve


def _gradient(gating: Gating, gates: Tensor, log_a: Tensor, strength: float) -> Tensor:
    """Gradient of the loss by ln a, with as many draws in one pass as memory allows."""
    parts = gates.split(gating.rows_with_gradients)
    if len(parts) == 1:
        loss = gating.divergence(gates).mean() + strength * hard_concrete.penalty(log_a)
        return torch.autograd.grad(loss, log_a)[0]
    total = torch.autograd.grad(strength * hard_concrete.penalty(log_a), log_a, retain_graph=True)[0]
    for part in parts:
        total = total + torch.autograd.grad(gating.divergence(part).sum() / len(gates), log_a, retain_graph=True)[0]
    return total


def _in_pairs(draws: int, count: int, random: torch.Generator) -> Tensor:
    """(draws, count) uniform numbers, u and 1 - u in turn: the mean of a pair has less variance than of any two."""
    u = torch.rand(draws // 2, count, generator=random).clamp(hard_concrete.EPS, 1 - hard_concrete.EPS)
    return torch.cat((u, 1 - u))


def _most_open(log_a: Tensor, most: int) -> Tensor:
    """(S, heads) bool: the 1, 2, 3, ... heads whose gates are most open; where there are many, the sizes nearest to
    what the gates decide.
    """
    count = len(log_a)
    decided = int(hard_concrete.decided(log_a).sum())
    first = max(1, min(decided - most // 2, count - most))
    sizes = torch.arange(first, min(count, first + most))
    ranks = log_a.argsort(descending=True).argsort()
    return ranks < sizes.unsqueeze(1)


def _spared(curve: Curve, bound: float) -> bool:
    """Tries to close one more head of the answer; True if one could go."""
    size = curve.fewest(bound)
    stays = curve.found[size][1]
    if size == 0:
        return False
    curve.offer(stays & ~torch.eye(len(stays), dtype=torch.bool)[stays])
    return curve.fewest(bound) < size


def _exchanged(curve: Curve, bound: float) -> bool:
    """Tries the set of one head less, exchanging one of its heads for one outside; True if the answer became smaller
    or that set clearly better.
    """
    size = curve.fewest(bound) - 1
    if size < 1 or size not in curve.found:
        return False
    divergence, stays = curve.found[size]
    one = torch.eye(len(stays), dtype=torch.bool)
    sets = (stays ^ one[stays].unsqueeze(1) ^ one[~stays].unsqueeze(0)).flatten(0, 1)
    if len(sets) > EXCHANGES:
        sets = sets[torch.randperm(len(sets), generator=generator(STREAM, size))[:EXCHANGES]]
    curve.offer(sets)
    return curve.found[size][0] < 0.95 * divergence


def by_order(gating: Gating, order: Tensor) -> list[tuple[int, float]]:
    """(heads, KL) with the first 0, 1, 2, ... heads of `order` open and the others pruned, the most heads first.

    Args:
        order: (heads,) indices, those that stay longest first.
    """
    ranks = order.argsort()
    sets = ranks < torch.arange(len(order), -1, -1).unsqueeze(1)
    divergences = gating.in_parts(gating.divergence, sets.float()).tolist()
    return [(int(stays.sum()), divergence) for stays, divergence in zip(sets, divergences, strict=True)]
