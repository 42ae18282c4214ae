"""Thumbnails of attention maps, downsampled before they are sent or cached."""

from __future__ import annotations

import numpy
from numpy import ndarray

MAX_SIDE = 64  # largest side of a thumbnail in pixels; for a larger map, a pixel shows the largest weight of a block


def thumbnails(maps: ndarray, has_sink: bool = False) -> ndarray:
    """Returns thumbnails (..., n, m) of attention weights (..., N, M).

    A value is round(255 sqrt(w)) as uint8, where w is the largest weight in a block of the map.

    n and m are at most MAX_SIDE. With `has_sink`, the thumbnails have one more column, which shows the sink: the part
    of each row that no key has.
    """
    if has_sink:
        sinks = 1 - maps.sum(-1, keepdims=True)
        return numpy.concatenate([thumbnails(maps), thumbnails(sinks)], axis=-1)
    pooled = _pool(_pool(maps, -2), -1)
    return (numpy.sqrt(numpy.clip(pooled, 0, 1)) * 255 + 0.5).astype(numpy.uint8)


def _pool(maps: ndarray, axis: int) -> ndarray:
    """Returns the maximum of each block of neighbours along `axis`, so that at most MAX_SIDE entries remain."""
    block = -(-maps.shape[axis] // MAX_SIDE)
    if block <= 1:
        return maps
    pooled = _at(maps, axis, slice(None, None, block)).copy()
    for offset in range(1, block):
        part = _at(maps, axis, slice(offset, None, block))
        whole = _at(pooled, axis, slice(None, part.shape[axis]))  # the last block may be shorter
        numpy.maximum(whole, part, out=whole)
    return pooled


def _at(maps: ndarray, axis: int, part: slice) -> ndarray:
    """Returns a part along one of the last two axes."""
    return maps[..., part] if axis == -1 else maps[..., part, :]
