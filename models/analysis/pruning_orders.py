"""Pruning orders: the order in which heads are pruned, and the plans of an order. Imports no torch."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy
from numpy import ndarray

from models.plan import Address, HeadPlan

# the values by which heads are ordered: learned gates; the loss with one head pruned; confidence; random numbers
LEARNED, ALONE, CONFIDENCE, RANDOM = "learned", "alone", "confidence", "random"
SEED = 23

Order = tuple[Address, ...]


def by_values(addresses: Sequence[Address], values: Sequence[float] | ndarray) -> Order:
    """Returns the heads by ascending value; heads with equal values keep their order."""
    ranks = sorted(range(len(addresses)), key=lambda i: (float(values[i]), i))
    return tuple(addresses[i] for i in ranks)


def at_random(addresses: Sequence[Address], draw: int = 0) -> Order:
    """Returns the random pruning order with number `draw`, the same for all models with the same number of heads."""
    return tuple(addresses[i] for i in numpy.random.default_rng((SEED, draw)).permutation(len(addresses)))


def learned(series: Iterable[Mapping[str, Any]], addresses: Sequence[Address]) -> Order:
    """Returns the order by learned gates: number of strengths at which the head is open, then mean probability."""
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
    """Returns the text form of a pruning order in study files: `self-0.3 self-1.2`."""
    return " ".join(f"{kind}-{layer}.{head}" for kind, layer, head in order)


def closed(order: Order, left: int) -> Order:
    """Returns the heads that are pruned when `left` heads are left, 0 to all."""
    return order[:len(order) - left]


def pruned(plan: HeadPlan, order: Order, left: int) -> HeadPlan:
    """Returns the plan that prunes all but the last `left` heads of the order; other heads are unchanged."""
    return plan.with_heads(order, gate=1.0).with_heads(closed(order, left), gate=0.0)


def left_of(plan: HeadPlan, order: Order) -> int:
    """Returns the number of heads of the order that the plan does not prune."""
    return sum(plan.state(*address).gate > 0 for address in order)
