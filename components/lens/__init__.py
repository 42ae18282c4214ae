"""Predictions by layer: a table of layers and positions with the top token of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy import ndarray

from components.mounting import Content, OnEvent, component


@component("lens")
def lens(*, key: str, tokens: Sequence[str] = (), words: Sequence[str] = (),
         before: tuple[ndarray, ndarray] | None = None, after: tuple[ndarray, ndarray] | None = None,
         first: Sequence[int] = (), at: int = 0, message: str = "", model: str = "",
         on_event: OnEvent | None = None) -> Content:
    """Draws the table; the top tokens of the cell under the pointer are shown below it.

    Args:
        key: key of the mount.
        tokens: P tokens, the columns.
        words: texts of the tokens that are predicted.
        before: (L + 1, P, k) indices of `words`, the most probable first, and their probabilities, of the unmodified
            model; None with a message.
        after: the same under the plan; None for the empty plan.
        first: P layers at which the final answer first leads, under the plan.
        at: the column that is marked while none is pointed at.
        message: why there is no table.
        model: title of the model, for downloads.
        on_event: not called.
    """
    arrays: dict[str, ndarray] = {}
    for name, values in (("before", before), ("after", after)):
        if values is not None:
            arrays |= {f"{name}_ids": numpy.asarray(values[0], numpy.int32),
                       f"{name}_probabilities": numpy.asarray(values[1], numpy.float32)}
    header: dict[str, Any] = {"tokens": list(tokens), "words": list(words), "first": list(first), "at": int(at),
                              "message": message, "model": model,
                              "shape": list(before[0].shape) if before is not None else [0, 0, 0]}
    return header, arrays
