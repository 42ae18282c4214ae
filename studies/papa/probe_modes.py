"""Conditions of the study: which heads are modified, and how.

    learned    constant, in ascending order of lambda (order.py)
    random     constant, in a random order; another order for each seed
    removed    pruned (gate 0), in ascending order of lambda

As in the source, 1, 1/2, 1/8, 1/16 and 0 of the heads stay dynamic. `removed` with no dynamic head is the control of
every study: the score that a probe reaches without any attention.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from models.generate.decoding import generator
from models.plan import Address, HeadPlan

LEARNED, RANDOM, REMOVED = "learned", "random", "removed"
MODES = (LEARNED, RANDOM, REMOVED)
FRACTIONS = (1.0, 0.5, 0.125, 0.0625, 0.0)  # fractions of the heads that stay dynamic
SEEDS = (0, 1, 2)  # seeds of the probes and of the random orders
STREAM = 97


@dataclass(frozen=True)
class Condition:
    """One modification of the model."""

    mode: str  # one of MODES
    count: int  # number of heads that are constant or pruned
    seeds: tuple[int, ...] = SEEDS  # seeds of the probes that are trained on the modified model
    draw: int = 0  # number of the random order

    def __str__(self) -> str:
        """Returns the key of the condition's scores in a measurement file."""
        return f"{self.mode} {self.count} {self.draw}"


def head_counts(heads: int) -> tuple[int, ...]:
    """Returns the number of modified heads at each of FRACTIONS; for 144 heads, these are 0, 72, 126, 135 and 144."""
    return tuple(heads - round(heads * fraction) for fraction in FRACTIONS)


def endpoints(heads: int) -> list[Condition]:
    """Returns the unmodified model, all heads constant, and the control with all heads pruned."""
    return [Condition(LEARNED, 0), Condition(LEARNED, heads), Condition(REMOVED, heads)]


def conditions(heads: int, modes: Sequence[str] = MODES, probes: int = len(SEEDS)) -> list[Condition]:
    """Returns the endpoints and the other conditions of the given modes, the most important conditions first.

    `probes` is the number of seeds where the orders are compared: no head constant, and 1/8 dynamic in both orders.
    """
    none, half, eighth, sixteenth, _every = head_counts(heads)
    seeds = tuple(range(probes))
    others = [Condition(LEARNED, eighth, seeds), *(Condition(LEARNED, count) for count in (half, sixteenth))]
    others += [Condition(RANDOM, eighth, (seed,), seed) for seed in seeds]
    others += [Condition(REMOVED, count) for count in (eighth, half, sixteenth)]
    others += [Condition(RANDOM, count, (seed,), seed) for count in (half, sixteenth) for seed in SEEDS]
    chosen = [Condition(LEARNED, none, seeds), *endpoints(heads)[1:],
              *(condition for condition in others if condition.mode in modes)]
    return list(dict.fromkeys(chosen))


def random_order(addresses: Sequence[Address], draw: int) -> list[Address]:
    """Returns the heads in a random order, which is the same for all tasks of a model."""
    order = torch.randperm(len(addresses), generator=generator(STREAM, draw)).tolist()
    return [addresses[i] for i in order]


def plan_of(condition: Condition, learned: Sequence[Address]) -> HeadPlan:
    """Returns the plan of a condition."""
    order = random_order(sorted(learned), condition.draw) if condition.mode == RANDOM else learned
    heads = order[:condition.count]
    return HeadPlan().with_heads(heads, gate=0.0) if condition.mode == REMOVED else \
        HeadPlan().with_heads(heads, constant=True)
