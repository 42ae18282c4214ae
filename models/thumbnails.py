"""Thumbnails of attention maps, downsampled before they are sent or cached."""

import numpy
from numpy import ndarray

MAX_SIDE = 64  # largest side of a thumbnail in pixels; for a larger map, a pixel shows the largest weight of a block


def thumbnails(maps: ndarray, has_sink: bool = False, side: int = MAX_SIDE) -> ndarray:
    """Returns thumbnails (..., n, m) of attention weights (..., N, M); n and m are at most `side`.

    A value is round(255 sqrt(w)) as uint8, where w is the largest weight in a block of the map. With `has_sink`, one
    more column shows the sink: the part of each row that no key has.
    """
    if has_sink:
        sinks = 1 - maps.sum(-1, keepdims=True)
        return numpy.concatenate([thumbnails(maps, side=side), thumbnails(sinks, side=side)], axis=-1)
    return encoded(pooled(maps, side))


def encoded(weights: ndarray) -> ndarray:
    """Returns round(255 sqrt(w)) as uint8."""
    return (numpy.sqrt(numpy.clip(weights, 0, 1)) * 255 + 0.5).astype(numpy.uint8)


def pooled(maps: ndarray, side: int) -> ndarray:
    """Returns maps (..., n, m), n and m at most `side`: the largest value of each block of a larger map."""
    return _pool(_pool(maps, -2, side), -1, side)


def _pool(maps: ndarray, axis: int, side: int) -> ndarray:
    """Returns the maximum of each block of neighbours along `axis`, so that at most `side` entries remain."""
    block = -(-maps.shape[axis] // side)
    if block <= 1:
        return maps
    result = _at(maps, axis, slice(None, None, block)).copy()
    for offset in range(1, block):
        part = _at(maps, axis, slice(offset, None, block))
        whole = _at(result, axis, slice(None, part.shape[axis]))  # the last block may be shorter
        numpy.maximum(whole, part, out=whole)
    return result


def _at(maps: ndarray, axis: int, part: slice) -> ndarray:
    """Returns a part along one of the last two axes."""
    return maps[..., part] if axis == -1 else maps[..., part, :]
