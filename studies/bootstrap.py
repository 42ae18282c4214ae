"""Uncertainty of a mean over texts, by resampling the texts with replacement (the bootstrap; Efron 1979).

Texts are resampled, not tokens, because neighbouring tokens are not independent. Two models are compared text by text.
The random seed is fixed, so a page shows the same numbers every time.
"""

import math
from collections.abc import Sequence

import numpy
from numpy import ndarray

DRAWS = 2000
SEED = 11


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
    """Returns the one-sided p-values of "the mean is below `limit`" and of "the mean is above `limit`", by bootstrap-t.
    """
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
