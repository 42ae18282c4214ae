"""What single texts came to: kept beside a training's numbers, so that two models are compared text by text.

A metric's number is the mean of these over all texts, each counted as often as something was asked of it. Texts are
drawn again as in models/studies/bootstrap.py: what counts as one is said there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from numpy import ndarray
from torch import Tensor

RIGHT, ASKED = "right", "asked"


@dataclass(frozen=True, eq=False)
class Texts:
    """One training's.

    Attributes:
        values: (T,) a mean a text.
        counts: (T,) what it is the mean of.
    """

    values: ndarray
    counts: ndarray

    def __post_init__(self) -> None:
        """Raises ValueError where the numbers are damaged."""
        if self.values.shape != self.counts.shape or self.values.ndim != 1 or not len(self.values) or \
                not numpy.isfinite(self.values).all():
            raise ValueError("not one finite number per text")

    def of_the_same(self, other: Texts) -> bool:
        """Whether both are of the same texts, as far as can be told."""
        return numpy.array_equal(self.counts, other.counts)


# Of a training's metric; raises KeyError where it has none, and ValueError for damaged numbers.
Reader = Callable[[Mapping[str, Any]], Texts]


def difference(sides: Iterable[Texts]) -> Texts | None:
    """Returns, text by text, the first side minus the others, or the first side itself where it is the only one.

    Returns:
        None where a side was not measured (an older training), where sides are of other texts, and of a single text,
        whose spread is unknown.

    Raises:
        ValueError: numbers of a side are damaged.
    """
    try:
        first, *others = sides
    except KeyError:
        return None
    if len(first.values) < 2 or not all(other.of_the_same(first) for other in others):
        return None
    return Texts(first.values - sum(its.values for its in others), first.counts)


def counted(right: Tensor, whose: Tensor) -> dict[str, list[int]]:
    """What `shares` reads, of answers.

    Args:
        right: (K,) bool, of each answer.
        whose: (K,) number of the text that it is of, from 0.
    """
    return {RIGHT: torch.bincount(whose[right], minlength=int(whose.max()) + 1 if len(whose) else 0).tolist(),
            ASKED: torch.bincount(whose).tolist()}


def shares(found: Mapping[str, Any]) -> Texts:
    """Shares of right answers."""
    right, asked = numpy.array(found[RIGHT], float), numpy.array(found[ASKED], float)
    if right.shape != asked.shape:
        raise ValueError("not as many texts were asked as answered")
    return Texts(right / numpy.maximum(asked, 1), asked)


def losses(metric: Mapping[str, Any]) -> Texts:
    """Nats, of stories and books."""
    values = numpy.array(metric["text_losses"], float)
    return Texts(values, numpy.ones_like(values))


def answers(events: int, among: str) -> Reader:
    """Right answers to assignments; `among`: a key of Answered.among."""
    return lambda metric: shares(metric["texts"][str(events)][among])


def guesses(length: int, policy: str = "") -> Reader:
    """Right guesses of hidden tokens; `policy`: of seeds.READINGS, where not as it was trained."""
    if policy:
        return lambda metric: shares(metric["readings"][policy][str(length)]["texts"])
    return lambda metric: shares(metric["texts"][str(length)])


def sentences(metric: Mapping[str, Any]) -> Texts:
    """BLEU, of which models/studies/corpus/sentences.py says what a sentence's is."""
    values = numpy.array(metric["sentence_bleu"], float)
    return Texts(values, numpy.ones_like(values))


def sentence_logs(metric: Mapping[str, Any]) -> Texts:
    """The same of its logarithm."""
    found = sentences(metric)
    return Texts(found.values / found.values.mean(), found.counts)
