"""How far a mean over texts is from that of all texts: texts are drawn again, with replacement (Efron 1979).

A text is what was drawn as one: neighbouring tokens are no witnesses of their own. Two models are compared text by
text. What is drawn is decided by a seed, so that a page shows the same numbers every time.
"""

from __future__ import annotations

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


def quantiles_of_means(values: Sequence[float] | ndarray, shares: Sequence[float]) -> list[float]:
    """Quantiles of the mean, as texts drawn again have it."""
    return [float(q) for q in numpy.quantile(resampled(numpy.asarray(values)), shares)]


def error(values: ndarray, weights: ndarray | None = None) -> float:
    """Standard error of the weighted mean by the choice of texts; 0 of fewer than two, which tell nothing.

    Texts drawn again spread less than new ones would, as a sample's mean is nearer to it than the true one.
    """
    count = len(values)
    return float(resampled(values, weights).std()) * (count / (count - 1))**0.5 if count > 1 else 0.0
