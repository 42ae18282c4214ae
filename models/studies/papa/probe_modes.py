"""Which heads are touched, and what is done to them.

    learned    constant, in the order of lambda
    random     constant, in a random order; another one for each seed
    removed    gate 0, in the order of lambda

As many heads stay live as in the source: all, 1/2, 1/8, 1/16 of them, none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from models.generate.sampling import generator
from models.plan import Address, HeadPlan

LEARNED, RANDOM, REMOVED = "learned", "random", "removed"
WAYS = (LEARNED, RANDOM, REMOVED)
FRACTIONS = (1.0, 0.5, 0.125, 0.0625, 0.0)  # of heads that stay live
SEEDS = (0, 1, 2)  # of probes, and of random orders
STREAM = 97


@dataclass(frozen=True)
class Condition:
    """One state of the model.

    Attributes:
        way: one of WAYS.
        touched: heads that are constant, or removed.
        seeds: of the probes that are trained on it.
        draw: of the random order.
    """

    way: str
    touched: int
    seeds: tuple[int, ...] = SEEDS
    draw: int = 0


def touched(heads: int) -> tuple[int, ...]:
    """How many heads are touched at each of FRACTIONS: of 144, 0, 72, 126, 135 and 144, the source's own."""
    return tuple(heads - round(heads * fraction) for fraction in FRACTIONS)


def ends(heads: int) -> list[Condition]:
    """No head constant, and all: what a model that is one of many is measured at."""
    return [Condition(LEARNED, 0), Condition(LEARNED, heads)]


def conditions(heads: int, ways: Sequence[str] = WAYS) -> list[Condition]:
    """All of them, those that decide the most first. With no head touched, or all of them constant, there is no order,
    and `learned` stands for `random`."""
    none, half, eighth, sixteenth, every = touched(heads)
    ordered = [Condition(LEARNED, k) for k in (none, every, eighth, half, sixteenth)]
    ordered += [Condition(RANDOM, eighth, (seed,), seed) for seed in SEEDS]
    ordered += [Condition(REMOVED, k) for k in (eighth, every, half, sixteenth)]
    ordered += [Condition(RANDOM, k, (seed,), seed) for k in (half, sixteenth) for seed in SEEDS]
    return list(dict.fromkeys(its for its in ordered if its.way in ways))


def random_order(addresses: Sequence[Address], draw: int) -> list[Address]:
    """The heads in a random order, the same for all tasks of a model."""
    order = torch.randperm(len(addresses), generator=generator(STREAM, draw)).tolist()
    return [addresses[i] for i in order]


def plan_of(condition: Condition, learned: Sequence[Address]) -> HeadPlan:
    """What a condition does to the heads.

    Args:
        learned: all heads, the one that can be spared first.
    """
    order = random_order(sorted(learned), condition.draw) if condition.way == RANDOM else learned
    heads = order[:condition.touched]
    return HeadPlan().with_heads(heads, gate=0.0) if condition.way == REMOVED else \
        HeadPlan().with_heads(heads, constant=True)
