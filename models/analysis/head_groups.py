"""Three groups of heads for one text, after Causal Head Gating (Nam et al. 2025, arXiv 2505.13737).

Gates G = sigmoid(a), one per head, are fitted to the text's targets on frozen weights. The first fit minimises the loss
only. Two more fits start from its result and push each gate towards 1 (result G+) or towards 0 (result G-):

    minimise  loss(G) ∓ push · sum over heads of clip(a, -LIMIT, LIMIT)

    high in both                 facilitating: the loss is lower with the head, even if its gate is pushed towards 0
    low in both                  interfering: the loss is lower without the head, even if its gate is pushed towards 1
    high in G+, low in G-        irrelevant: the gate follows the push
    low in G+, high in G-        undecided: the two fits found different solutions, which depend on other heads
    near one half in either      undecided

The scores are G- (facilitating), 1 - G+ (interfering) and G+ (1 - G-) (irrelevant), as in the paper's section 3.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from models.analysis.gated_predictions import Gating
from models.analysis.minimal_heads import Turn
from models.errors import CancelledError

FACILITATING, INTERFERING, IRRELEVANT, UNDECIDED = GROUPS = ("facilitating", "interfering", "irrelevant", "undecided")
ALONE, PUSHED = 30, 80  # numbers of steps of the first fit, and of each of the two later fits
PUSH = 0.01  # strength of the push in nats per unit of a
RATE = 0.3  # Adam's learning rate of a
LIMIT = 4.0  # the push has no effect if |a| exceeds this value: gates below 0.018 or above 0.982
HALF, MARGIN = 0.5, 0.1  # a gate is high from 0.6 on, and low up to 0.4


@dataclass(frozen=True, eq=False)
class Groups:
    """The result of the fits."""

    # kept and removed: (heads,) the gates G+ and G-, 0 to 1
    kept: Tensor
    removed: Tensor
    loss: float  # loss of the targets in nats, for the unmodified model
    losses: dict[str, float]  # group -> loss in nats with the heads of the group pruned

    @property
    def names(self) -> list[str]:
        return [group_of(*pair) for pair in zip(self.kept.tolist(), self.removed.tolist(), strict=True)]


def group_of(kept: float, removed: float) -> str:
    """Returns the group of a head; a head with a gate within MARGIN of one half is undecided."""
    if min(abs(kept - HALF), abs(removed - HALF)) < MARGIN:
        return UNDECIDED
    if kept >= HALF:
        return FACILITATING if removed >= HALF else IRRELEVANT
    return UNDECIDED if removed >= HALF else INTERFERING


def fit(gating: Gating, push: float = PUSH, tell: Callable[[int, int], None] = lambda done, of: None,
        cancelled: Callable[[], bool] = lambda: False, turn: Turn = contextlib.nullcontext) -> Groups:
    """Returns the groups of one text; arguments and CancelledError as in minimal_heads.learn."""
    count, total = len(gating.heads), ALONE + PUSHED
    a = torch.zeros(1, count)
    done = 0
    for directions, steps in ((torch.zeros(1, 1), ALONE), (torch.tensor([[1.0], [-1.0]]), PUSHED)):
        a = a.expand(len(directions), -1).clone().requires_grad_()
        optimiser = torch.optim.Adam([a], lr=RATE)
        for _ in range(steps):
            if cancelled():
                raise CancelledError
            with turn():
                pushes = (directions * a.clamp(-LIMIT, LIMIT)).sum()
                a.grad = _gradient(gating, a, push * pushes)
                optimiser.step()
            done += 1
            tell(done, total)
        a = a.detach().clamp(-LIMIT, LIMIT)
    kept, removed = a.sigmoid()
    names = [group_of(*pair) for pair in zip(kept.tolist(), removed.tolist(), strict=True)]
    rows = torch.tensor([[1.0] * count, *([float(name != group) for name in names] for group in GROUPS)])
    with turn():
        untouched, *without = gating.in_parts(gating.loss, rows).tolist()
    return Groups(kept, removed, untouched, dict(zip(GROUPS, without, strict=True)))


def _gradient(gating: Gating, a: Tensor, gained: Tensor) -> Tensor:
    """Returns the gradient of (loss - `gained`) in a, in one pass if memory allows, else one per gate vector."""
    if len(a) <= gating.rows_with_gradients:
        return torch.autograd.grad(gating.loss(a.sigmoid()).sum() - gained, a)[0]
    total = torch.autograd.grad(-gained, a)[0]
    for row in range(len(a)):
        total = total + torch.autograd.grad(gating.loss(a[row:row + 1].sigmoid()).sum(), a)[0]
    return total
