"""The shift of the output vectors under a plan, for a model without predictions."""

import numpy
from numpy import ndarray

from models.trace import Sketch, Trace


def vector_shift(before: Trace | Sketch, after: Trace | Sketch) -> tuple[ndarray, float]:
    """Returns 1 - cosine between the output vectors before and after: of each token (tokens,), and of the mean vector.

    0 means no change, 1 orthogonal vectors, 2 opposite vectors.
    """
    if before.vectors is None or after.vectors is None:
        raise ValueError("this model predicts something; its vectors are not kept")
    old, new = before.vectors.astype(numpy.float64), after.vectors.astype(numpy.float64)
    return _turned(old, new), float(_turned(old.mean(0), new.mean(0)))


def _turned(old: ndarray, new: ndarray) -> ndarray:
    """Returns 1 - cosine (...) of vectors (..., C); exactly 0 if nothing changed."""
    norms = numpy.linalg.norm(old, axis=-1) * numpy.linalg.norm(new, axis=-1)
    cosine = (old * new).sum(-1) / numpy.maximum(norms, 1e-30)
    return numpy.where((old == new).all(-1), 0.0, 1 - cosine.clip(-1, 1))
