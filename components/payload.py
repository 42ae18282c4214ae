"""Packs a JSON header and arrays into one binary payload.

A Streamlit component accepts raw bytes only as its whole `data`. Layout: uint32 little-endian length of the JSON
header, the header, zeros up to a multiple of 8, the arrays. The browser unpacks a payload with `unpack` in
core/payload.js.
"""

import json
import struct
from functools import lru_cache
from typing import Any

import numpy
from numpy import ndarray

ALIGNMENT = 8  # alignment of arrays in bytes; a typed array in the browser must start at a multiple of its item size
DTYPES = ("uint8", "int32", "float32", "float64")  # the types that payloads support


def pack(header: dict[str, Any], arrays: dict[str, ndarray] | None = None) -> bytes:
    """Returns a header and arrays as one payload.

    Args:
        header: JSON values without NaN and infinity, which browsers reject. The key "arrays" is added:
            name -> {dtype, shape, offset}, offsets in bytes from the end of the padded header.
        arrays: name -> uint8, int32, float32 or float64 array of any shape.

    Raises:
        ValueError: the header has a number that is not finite, or an array has a type that is not in DTYPES.
    """
    index, chunks, offset = {}, [], 0
    for name, array in (arrays or {}).items():
        if array.dtype.name not in DTYPES:
            raise ValueError(f"array {name!r}: expected one of {', '.join(DTYPES)}, got {array.dtype.name}")
        data = numpy.ascontiguousarray(array).tobytes()
        index[name] = {"dtype": array.dtype.name, "shape": list(array.shape), "offset": offset}
        chunks += [data, bytes(-len(data) % ALIGNMENT)]
        offset += len(data) + -len(data) % ALIGNMENT
    text = json.dumps({**header, "arrays": index}, allow_nan=False, separators=(",", ":"))
    # The header is ASCII: json.dumps escapes all other characters, also lone surrogates, which have no UTF-8 form.
    encoded = text.encode("utf-8")
    gap = bytes(-(4 + len(encoded)) % ALIGNMENT)
    return b"".join([struct.pack("<I", len(encoded)), encoded, gap, *chunks])


def unpack(blob: bytes) -> tuple[dict[str, Any], dict[str, ndarray]]:
    """Returns the header, without "arrays", and the arrays of a payload, as read-only views; inverse of `pack`."""
    (length,) = struct.unpack_from("<I", blob)
    header = json.loads(blob[4:4 + length].decode("utf-8"))
    start = 4 + length + -(4 + length) % ALIGNMENT
    arrays = {}
    for name, entry in header.pop("arrays").items():
        count = int(numpy.prod(entry["shape"]))
        view = numpy.frombuffer(blob, entry["dtype"], count, start + entry["offset"])
        arrays[name] = view.reshape(entry["shape"])
    return header, arrays


def lower_triangle(maps: ndarray) -> ndarray:
    """Returns the entries on and below the diagonal, row by row: (..., N, N) -> (..., N (N + 1) / 2)."""
    n = maps.shape[-1]
    return maps.reshape(*maps.shape[:-2], n * n).take(_lower_indices(n), axis=-1)


@lru_cache(maxsize=64)
def _lower_indices(n: int) -> ndarray:
    rows, columns = numpy.tril_indices(n)
    return (rows * n + columns).astype(numpy.intp)
