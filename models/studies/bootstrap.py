"""How far a mean over texts is from that of all texts: texts are drawn again, with replacement (Efron 1979).

A text is what was drawn as one: neighbouring tokens are no witnesses of their own. Two models are compared text by
text. What is drawn is decided by a seed, so that a page shows the same numbers every time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy
from numpy import ndarray

DRAWS = 2000
SEED = 11


def resampled(values: ndarray, weights: ndarray | None = None, draws: int = DRAWS) -> ndarray:
    """(draws,) weighted means of texts drawn again.

    Args:
        values: (T,) one mean a text.
        weights: (T,) what each text counts, as its predictions; all the same by default.
    """
    values = numpy.asarray(values, float)
    weights = numpy.ones(len(values)) if weights is None else numpy.asarray(weights, float)
    chosen = numpy.random.default_rng(SEED).integers(0, len(values), (draws, len(values)))
    return (values * weights)[chosen].sum(1) / weights[chosen].sum(1)


def limits_of_mean(values: Sequence[float] | ndarray, share: float) -> tuple[float, float]:
    """What the mean of all texts lies below, and above, but for `share` of samples each: bootstrap-t (Hall 1988).

    Quantiles of the drawn means themselves are too near: of 32 texts whose differences are skewed the wrong side was
    taken in 9 to 11 of a hundred instead of 5, so in 4 to 8. Infinite where texts are too few to tell.

    Args:
        values: (T,) one mean a text, two texts at least.
    """
    values = numpy.asarray(values, float)
    mean, count = values.mean(), len(values)
    apart = values - mean
    if count < 2:
        return -numpy.inf, numpy.inf
    if numpy.abs(apart).max() <= 1e-12 * abs(mean):  # all the same, but for rounding
        return float(mean), float(mean)
    drawn = resampled(apart)
    # Within each draw: the mean of squares less the square of the mean, which rounding may take below 0.
    errors = ((resampled(apart**2) - drawn**2).clip(0) / (count - 1)) ** 0.5
    with numpy.errstate(divide="ignore", invalid="ignore"):
        away = numpy.where(drawn == 0, 0.0, drawn / errors)
    low, high = numpy.quantile(away, (share, 1 - share), method="nearest")  # no mean of infinities
    own = apart.std(ddof=1) / count**0.5
    return float(mean - high * own), float(mean - low * own)


def error(values: ndarray, weights: ndarray | None = None) -> float:
    """Standard error of the weighted mean by the choice of texts; NaN of fewer than two, which tell nothing.

    Texts drawn again spread less than new ones would, as a sample's mean is nearer to it than the true one.
    """
    count = len(values)
    return float(resampled(values, weights).std()) * (count / (count - 1))**0.5 if count > 1 else math.nan
