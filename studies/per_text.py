"""Values per text of a training's metrics, for comparing two models text by text, and the uncertainty of their mean.

A metric is the mean of these values over all texts, weighted by the number of predictions of each text. Its uncertainty
is found by resampling the texts with replacement (the bootstrap; Efron 1979). Texts are resampled, not tokens, because
neighbouring tokens are not independent. The random seed is fixed, so a page shows the same numbers every time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from numpy import ndarray
from torch import Tensor

RIGHT, ASKED = "right", "asked"
DRAWS = 2000
SEED = 11


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


def resampled(values: ndarray, weights: ndarray | None = None, draws: int = DRAWS) -> ndarray:
    """Returns weighted means (draws,), each over T texts that are sampled with replacement."""
    values = numpy.asarray(values, float)
    chosen = numpy.random.default_rng(SEED).integers(0, len(values), (draws, len(values)))
    return values[chosen].mean(1) if weights is None else (values * weights)[chosen].sum(1) / weights[chosen].sum(1)


def limits_of_mean(values: Sequence[float] | ndarray, share: float) -> tuple[float, float]:
    """Returns a lower and an upper confidence limit of the mean over all texts, by bootstrap-t (Hall 1988)."""
    studentised = _studentised(values)
    if studentised is None:
        return -numpy.inf, numpy.inf
    mean, own, resamples = studentised
    if not own:
        return mean, mean
    # `nearest`, because a mean of infinities is NaN
    low, high = numpy.quantile(resamples, (share, 1 - share), method="nearest")
    return float(mean - high * own), float(mean - low * own)


def chances_of_mean(values: Sequence[float] | ndarray, limit: float) -> tuple[float, float]:
    """Returns the one-sided p-values that the mean is below and above `limit`, by bootstrap-t."""
    studentised = _studentised(values)
    if studentised is None:
        return 1.0, 1.0
    mean, own, resamples = studentised
    if not own:
        return float(mean >= limit), float(mean <= limit)
    away = (mean - limit) / own
    return (1 + int((resamples <= away).sum())) / (DRAWS + 1), (1 + int((resamples >= away).sum())) / (DRAWS + 1)


def _studentised(values: Sequence[float] | ndarray) -> tuple[float, float, ndarray] | None:
    """Returns the mean, its standard error, and (draws,) t-values; None for fewer than two texts."""
    values = numpy.asarray(values, float)
    mean, count = values.mean(), len(values)
    apart = values - mean
    if count < 2:
        return None
    if numpy.abs(apart).max() <= 1e-12 * abs(mean):  # the values are equal up to rounding
        return float(mean), 0.0, numpy.zeros(DRAWS)
    resamples = resampled(apart)
    # Variance within each draw: the mean of squares minus the squared mean, which rounding can make negative.
    errors = ((resampled(apart**2) - resamples**2).clip(0) / (count - 1)) ** 0.5
    with numpy.errstate(divide="ignore", invalid="ignore"):
        away = numpy.where(resamples == 0, 0.0, resamples / errors)
    return float(mean), float(apart.std(ddof=1) / count**0.5), away


def error(values: ndarray, weights: ndarray | None = None) -> float:
    """Returns the standard error of the weighted mean, due to the sampling of texts; NaN for fewer than two texts."""
    count = len(values)
    return float(resampled(values, weights).std()) * (count / (count - 1))**0.5 if count > 1 else math.nan
