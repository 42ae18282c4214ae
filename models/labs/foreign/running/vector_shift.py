"""How far a plan moved the vectors of a model that predicts nothing."""

from __future__ import annotations

import numpy
from numpy import ndarray

from models.trace import Sketch, Trace


def vector_shift(before: Trace | Sketch, after: Trace | Sketch) -> tuple[ndarray, float]:
    """1 - cosine of each token's last vector before and after, (tokens,); and of the sentence's, the mean of all.

    0 is not moved at all, 1 at a right angle, 2 turned round.

    Raises:
        ValueError: the model gives no vectors.
    """
    if before.vectors is None or after.vectors is None:
        raise ValueError("this model predicts something; its vectors are not kept")
    old, new = before.vectors.astype(numpy.float64), after.vectors.astype(numpy.float64)
    return _turned(old, new), float(_turned(old.mean(0), new.mean(0)))


def _turned(old: ndarray, new: ndarray) -> ndarray:
    """(..., C) -> (...) 1 - cosine; 0 exactly where nothing changed."""
    norms = numpy.linalg.norm(old, axis=-1) * numpy.linalg.norm(new, axis=-1)
    cosine = (old * new).sum(-1) / numpy.maximum(norms, 1e-30)
    return numpy.where((old == new).all(-1), 0.0, 1 - cosine.clip(-1, 1))
