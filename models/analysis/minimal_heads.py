"""Minimal heads: the fewest heads that keep a model's prediction, found by gates learned on frozen weights.

    minimise  KL(unmodified ‖ gated) + strength · sum over heads of P(gate > 0)

There is one Hard Concrete gate per head (models/nets/hard_concrete.py; Louizos et al. 2018, Voita et al. 2019),
learned for one text in STEPS steps. The strength grows from step to step, so that gates close one after another, those
of the least important heads first. Every few steps, head sets (the heads whose gates are most open) are evaluated with
gates of 0 and 1. The best head set of each size is stored: a curve of KL against the number of heads. At the end, each
head of the resulting set is checked once more. Heads are removed as long as the KL stays within the bound, and heads
are exchanged for heads outside the set.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from models.analysis.gated_predictions import Gating
from models.errors import CancelledError
from models.generate.decoding import generator
from models.nets import hard_concrete

STEPS = 80
TOKENS = 80  # number of tokens of one step in all random draws of gates together; there are 4 to 8 draws per step
INITIAL = 2.0  # initial ln a of each gate: P(gate > 0) = 0.94
RATE = 0.2  # Adam's learning rate of ln a
WEAKEST, STRONGEST = 0.02, 4.0  # strengths at the first and at the last step, in units of KL(all closed) / heads
LOOK = 8  # number of steps between two evaluations of head sets
SETS = 32  # number of head sets per evaluation
EXCHANGES = 160  # largest number of head sets that are evaluated for an exchange of one head
BOUND = 0.1  # default bound of the KL divergence in nats
STREAM = 78  # seed of the gates' random numbers

Turn = Callable[[], contextlib.AbstractContextManager[None]]


@dataclass
class Curve:
    """The best known set of open heads for each size."""

    gating: Gating  # the predictions of the text under gates
    # number of open heads -> KL in nats, and a tensor (heads,) of bool, True for open heads
    best: dict[int, tuple[float, Tensor]] = field(default_factory=dict)

    def offer(self, sets: Tensor) -> Tensor:
        """Returns the KL (S,) in nats of sets (S, heads) bool, and stores every set that is the best of its size."""
        if not len(sets):  # a model of one head has no set between all heads and none
            return torch.empty(0)
        divergences = self.gating.in_parts(self.gating.divergence, sets.float())
        for stays, divergence in zip(sets, divergences.tolist(), strict=True):
            size = int(stays.sum())
            if size not in self.best or divergence < self.best[size][0]:
                self.best[size] = (divergence, stays.clone())
        return divergences

    def fewest(self, bound: float) -> int:
        """Returns the size of the smallest stored head set whose KL is at most `bound` nats."""
        return min((size for size, (divergence, _) in self.best.items() if divergence <= bound),
                   default=len(self.gating.heads))  # at a bound of 0, rounding can exclude even the set of all heads


def learn(gating: Gating, tokens: int, seed: int = 0, steps: int = STEPS,
          tell: Callable[[int, int], None] = lambda done, of: None, cancelled: Callable[[], bool] = lambda: False,
          turn: Turn = contextlib.nullcontext) -> Curve:
    """Returns the curve of one text that learned gates find; `polish` improves the curve at a bound.

    The number of tokens determines the draws per step. `tell` gets the finished and all steps; `cancelled` is called
    before each step and makes `learn` raise CancelledError; `turn` makes the context of each step, for example a lock.
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
    """Improves the head set at `bound` nats by removals and exchanges; returns the curve; arguments as in `learn`."""
    while True:
        if cancelled():
            raise CancelledError
        with turn():
            if not _spared(curve, bound) and not _exchanged(curve, bound):
                return curve


def _gradient(gating: Gating, gates: Tensor, log_a: Tensor, strength: float) -> Tensor:
    """Returns the gradient of the loss with respect to ln a, with as many draws per pass as memory allows."""
    parts = gates.split(gating.rows_with_gradients)
    if len(parts) == 1:
        loss = gating.divergence(gates).mean() + strength * hard_concrete.penalty(log_a)
        return torch.autograd.grad(loss, log_a)[0]
    total = torch.autograd.grad(strength * hard_concrete.penalty(log_a), log_a, retain_graph=True)[0]
    for part in parts:
        total = total + torch.autograd.grad(gating.divergence(part).sum() / len(gates), log_a, retain_graph=True)[0]
    return total


def _in_pairs(draws: int, count: int, random: torch.Generator) -> Tensor:
    """Returns uniform random numbers (draws, count) in pairs u, 1 - u, whose mean has less variance."""
    u = torch.rand(draws // 2, count, generator=random).clamp(hard_concrete.EPS, 1 - hard_concrete.EPS)
    return torch.cat((u, 1 - u))


def _most_open(log_a: Tensor, most: int) -> Tensor:
    """Returns at most `most` sets (S, heads) of the most open heads, their sizes near the number of open gates."""
    count = len(log_a)
    decided = int(hard_concrete.decided(log_a).sum())
    first = max(1, min(decided - most // 2, count - most))
    sizes = torch.arange(first, min(count, first + most))
    ranks = log_a.argsort(descending=True).argsort()
    return ranks < sizes.unsqueeze(1)


def _spared(curve: Curve, bound: float) -> bool:
    """Tries to remove one more head from the smallest head set within `bound`; returns True if it became smaller."""
    size = curve.fewest(bound)
    stays = curve.best[size][1]
    if size == 0:
        return False
    curve.offer(stays & ~torch.eye(len(stays), dtype=torch.bool)[stays])
    return curve.fewest(bound) < size


def _exchanged(curve: Curve, bound: float) -> bool:
    """Exchanges one head in the best set below the smallest set within `bound`; True if its KL fell by more than 5%."""
    size = curve.fewest(bound) - 1
    if size < 1 or size not in curve.best:
        return False
    divergence, stays = curve.best[size]
    single = torch.eye(len(stays), dtype=torch.bool)
    sets = (stays ^ single[stays].unsqueeze(1) ^ single[~stays].unsqueeze(0)).flatten(0, 1)
    if len(sets) > EXCHANGES:
        sets = sets[torch.randperm(len(sets), generator=generator(STREAM, size))[:EXCHANGES]]
    curve.offer(sets)
    return curve.best[size][0] < 0.95 * divergence


def by_order(gating: Gating, order: Tensor) -> list[tuple[int, float]]:
    """Returns (open heads, KL) from all heads to none; the first heads of `order` (descending importance) are open."""
    ranks = order.argsort()
    sets = ranks < torch.arange(len(order), -1, -1).unsqueeze(1)
    divergences = gating.in_parts(gating.divergence, sets.float()).tolist()
    return [(int(stays.sum()), divergence) for stays, divergence in zip(sets, divergences, strict=True)]
