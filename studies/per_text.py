"""Values per text of a training's metrics, for comparing two models text by text.

A metric is the mean of these values over all texts, weighted by the number of predictions of each text.
studies/bootstrap.py resamples the texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from numpy import ndarray
from torch import Tensor

RIGHT, ASKED = "right", "asked"


@dataclass(frozen=True, eq=False)
class Texts:
    """Values per text of one training."""

    values: ndarray  # (T,) mean of each text
    counts: ndarray  # (T,) number of predictions in each mean

    def __post_init__(self) -> None:
        """Raises ValueError if the values are damaged."""
        if self.values.shape != self.counts.shape or self.values.ndim != 1 or not len(self.values) or \
                not numpy.isfinite(self.values).all():
            raise ValueError("not one finite number per text")

    def of_the_same(self, other: Texts) -> bool:
        """Returns whether both are of the same texts, judged by their counts."""
        return numpy.array_equal(self.counts, other.counts)


# a function that reads values per text from a training's metric; raises KeyError if there are none, ValueError if
# damaged
Reader = Callable[[dict[str, Any]], Texts]


def difference(sides: Iterable[Texts]) -> Texts | None:
    """Returns the first side minus the sum of the other sides, text by text; a single side is returned unchanged."""
    try:
        first, *others = sides
    except KeyError:
        return None
    if len(first.values) < 2 or not all(other.of_the_same(first) for other in others):
        return None
    return Texts(first.values - sum(texts.values for texts in others), first.counts)


def counted(right: Tensor, whose: Tensor) -> dict[str, list[int]]:
    """Returns the numbers of right answers and of queries of each text, in the form that `shares` reads."""
    return {RIGHT: torch.bincount(whose[right], minlength=int(whose.max()) + 1 if len(whose) else 0).tolist(),
            ASKED: torch.bincount(whose).tolist()}


def shares(answers: Mapping[str, Any]) -> Texts:
    """Returns the fraction of right answers of each text."""
    right, queries = numpy.array(answers[RIGHT], float), numpy.array(answers[ASKED], float)
    if right.shape != queries.shape:
        raise ValueError("not as many texts were asked as answered")
    return Texts(right / numpy.maximum(queries, 1), queries)


def _with_equal_weights(values: Sequence[float]) -> Texts:
    array = numpy.array(values, float)  # of a damaged value, like a number, it has no dimension, which Texts reports
    return Texts(array, numpy.ones_like(array))


def losses(metric: Mapping[str, Any]) -> Texts:
    """Returns the losses of stories and books in nats; all texts have the same weight."""
    return _with_equal_weights(metric["text_losses"])


def answers(events: int, among: str) -> Reader:
    """Returns a function that reads the fraction of right answers in each assignment text."""
    return lambda metric: shares(metric["texts"][str(events)][among])


def guesses(length: int, policy: str = "") -> Reader:
    """Returns a function that reads the fraction of right predictions of masked tokens in each text."""
    if policy:
        return lambda metric: shares(metric["readings"][policy][str(length)]["texts"])
    return lambda metric: shares(metric["texts"][str(length)])


def rouge(metric: Mapping[str, Any]) -> Texts:
    """Returns ROUGE-L of each generated text, in percent."""
    return _with_equal_weights(metric["rouge_texts"])


def chosen(data: str) -> Reader:
    """Returns a function that reads for each multiple-choice item whether the answer is right (1 or 0)."""
    def read(metric: Mapping[str, Any]) -> Texts:
        return _with_equal_weights([int(right) for right in metric["choices"][data]["rights"]])
    return read


def paradigms(metric: Mapping[str, Any]) -> Texts:
    """Returns the fraction of right pairs of each paradigm of BLiMP; all paradigms have the same weight."""
    return _with_equal_weights([sum(map(int, bits)) / len(bits)
                                for _, bits in sorted(metric["blimp"]["rights"].items())])


def sentences(metric: Mapping[str, Any]) -> Texts:
    """Returns the value of each sentence for BLEU, as studies/generated/sentences.py defines it."""
    return _with_equal_weights(metric["sentence_bleu"])


def sentence_logs(metric: Mapping[str, Any]) -> Texts:
    """Returns the value of each sentence for ln BLEU (the derivative of the logarithm)."""
    texts = sentences(metric)
    return Texts(texts.values / texts.values.mean(), texts.counts)
