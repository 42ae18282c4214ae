"""Orders in which heads are pruned, the first to go first; and the plans that they give. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy
from numpy import ndarray

from models.plan import Address, HeadPlan

# By what heads go: learned gates; the loss when each is pruned alone; confidence; a draw.
LEARNED, ALONE, CONFIDENCE, RANDOM = "learned", "alone", "confidence", "random"
SEED = 23

Order = tuple[Address, ...]


def by_values(addresses: Sequence[Address], values: Sequence[float] | ndarray) -> Order:
    """The smallest value goes first; of equal ones the one that stands first."""
    ranks = sorted(range(len(addresses)), key=lambda i: (float(values[i]), i))
    return tuple(addresses[i] for i in ranks)


def at_random(addresses: Sequence[Address], draw: int = 0) -> Order:
    """The `draw`-th order by chance, the same for the same number of heads."""
    return tuple(addresses[i] for i in numpy.random.default_rng((SEED, draw)).permutation(len(addresses)))


def learned(series: Iterable[Mapping[str, Any]], addresses: Sequence[Address]) -> Order:
    """As learned gates have it (models/training/prune_heads.py): a head that more strengths leave open stays longer,
    and of equal ones the one whose probability of being open is higher, the mean over strengths.

    Args:
        series: runs of NAME.gates.json with gates on these heads and no others.

    Returns:
        None of them where there is no such run.
    """
    kinds = {kind for kind, _, _ in addresses}
    runs = [run for run in series if set(run["kinds"]) == kinds]
    if not runs:
        return ()
    plans = [HeadPlan.parse(run["plan"]) for run in runs]

    def rank(address: Address) -> float:
        kind, layer, head = address
        probabilities = [run["probabilities"][kind][layer][head] for run in runs]
        return sum(plan.state(*address).gate for plan in plans) + sum(probabilities) / (2 * len(runs))

    return by_values(addresses, [rank(address) for address in addresses])


def written(order: Order) -> str:
    """As studies keep it: `self-0.3 self-1.2`."""
    return " ".join(f"{kind}-{layer}.{head}" for kind, layer, head in order)


def closed(order: Order, left: int) -> Order:
    """The heads that are gone when so many are left, 0 to all."""
    return order[:len(order) - left]


def pruned(plan: HeadPlan, order: Order, left: int) -> HeadPlan:
    """The plan with so many heads of the order left; what it says of other heads stays, and what is constant."""
    return plan.with_heads(order, gate=1.0).with_heads(closed(order, left), gate=0.0)


def left_of(plan: HeadPlan, order: Order) -> int:
    """Heads of the order that the plan does not prune."""
    return sum(plan.state(*address).gate > 0 for address in order)


def follows(plan: HeadPlan, order: Order) -> bool:
    """True if the plan is `pruned` of some number."""
    return pruned(plan, order, left_of(plan, order)) == plan
