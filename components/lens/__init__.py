"""Predictions by layer: a table of layers and positions; each cell has the top-1 token."""

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
    """Displays the table, and below it the top tokens of the cell under the pointer.

    Args:
        key: key of the mount.
        tokens: P tokens, the columns.
        words: labels of all predicted tokens.
        before: (indices, probabilities), each (L + 1, P, k), of the k most probable tokens in the unmodified model, as
            indices of `words`, the most probable first; None if there is a message.
        after: (indices, probabilities) under the plan; None for the empty plan.
        first: for each of the P positions, the first layer whose top-1 token is the final prediction, under the plan.
        at: the column that is marked while the pointer is on no cell.
        message: the reason why there is no table; empty with a table.
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
