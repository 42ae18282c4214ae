"""Thumbnails of attention maps, downsampled before they are sent or cached."""

from __future__ import annotations

import numpy
from numpy import ndarray

MAX_SIDE = 64  # pixels of a thumbnail; larger maps show the largest weight of each block


def thumbnails(maps: ndarray) -> ndarray:
    """(..., N, M) weights -> (..., n, m) uint8: 255 sqrt(w), w the largest of a block; n, m <= MAX_SIDE."""
    pooled = _pool(_pool(maps, -2), -1)
    return (numpy.sqrt(numpy.clip(pooled, 0, 1)) * 255 + 0.5).astype(numpy.uint8)


def _pool(maps: ndarray, axis: int) -> ndarray:
    """The maximum over blocks of neighbours along `axis`, so that no more than MAX_SIDE are left."""
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
    """A part along one of the last two axes."""
    return maps[..., part] if axis == -1 else maps[..., part, :]
