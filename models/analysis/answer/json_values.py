"""Results of two passes as JSON values: losses, predictions and the effect of a plan."""

from typing import Any

import numpy
from numpy import ndarray

from models.trace import PassResult, divergence

DIGITS = 7  # decimals in JSON and significant digits in CSV; float32 has no more
MOST = 10  # number of tokens per prediction


def effect(before: PassResult, after: PassResult) -> dict[str, Any]:
    """Returns the losses and predictions under a plan, without it (`unmodified`), and their KL divergences in nats."""
    return {**_outcome(after), "kl": [number(kl) for kl in divergences(before, after)], "unmodified": _outcome(before)}


def divergences(before: PassResult, after: PassResult) -> list[float]:
    """Returns the KL divergence of each prediction from the unmodified model, in nats."""
    return [divergence(old, new) for old, new in zip(before.outputs, after.outputs, strict=True)]


def numbers(array: ndarray) -> Any:
    """Returns the array as nested lists, rounded to DIGITS decimals, with None for values that are not finite."""
    if array.ndim > 1:
        return [numbers(part) for part in array]
    return [number(value) for value in array.tolist()]


def number(value: float) -> float | None:
    """Returns the number, rounded to DIGITS decimals; None if it is not finite."""
    return round(float(value), DIGITS) if numpy.isfinite(value) else None


def _outcome(result: PassResult) -> dict[str, Any]:
    return {"loss": number(result.loss), "losses": numbers(result.losses),
            "predictions": [[{"label": output.names[i], "probability": number(output.distribution[i])}
                             for i in output.top(MOST)] for output in result.outputs]}
