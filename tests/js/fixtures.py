"""Fixtures for the JavaScript tests, computed with numpy and with functions of the package `models`."""

import json
from pathlib import Path
from typing import Any

import numpy
from numpy import ndarray

from components.colours import COLOURS
from components.payload import lower_triangle, pack
from models.thumbnails import thumbnails


def write(folder: Path) -> None:
    """Creates a folder and writes all fixtures into it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in {"scales": scales(), "tiles": tiles()}.items():
        (folder / f"{name}.json").write_text(json.dumps(value, allow_nan=False), "utf-8")
    blob, expected = payload()
    (folder / "payload.bin").write_bytes(blob)
    (folder / "payload.json").write_text(json.dumps(expected), "utf-8")


def scales() -> dict[str, Any]:
    """Returns the colour of each step of the scales of attention, in both themes."""
    return {"colours": {f"{theme} {name}": [_channels(scale[name], step / 255) for step in range(256)]
                        for theme, scale in COLOURS.items() for name in ("attention", "unused")}}


def tiles() -> dict[str, Any]:
    """Returns thumbnails of a causal block and of a block with more keys than queries, packed as for the Lab."""
    maps = {"causal": numpy.tril(_random(5).random((2, 3, 5, 5))), "cross": _random(6).random((3, 2, 4, 130))}
    return {name: _tiles(thumbnails(its.astype(numpy.float32)), name == "causal") for name, its in maps.items()}


def _tiles(tiles: ndarray, causal: bool) -> dict[str, Any]:
    packed = lower_triangle(tiles) if causal else tiles
    return {"rows": tiles.shape[2], "columns": tiles.shape[3], "causal": causal,
            "packed": packed.flatten().tolist(), "tiles": tiles.reshape(-1, *tiles.shape[2:]).tolist()}


def payload() -> tuple[bytes, dict[str, Any]]:
    """Returns a binary payload and the values that were packed into it."""
    header = {"text": "漢 🐉 \ud800 é", "list": [1, None, {"a": True}]}
    random = _random(7)
    arrays = {"bytes": random.integers(0, 255, (3, 5)).astype(numpy.uint8),
              "integers": random.integers(-2**31, 2**31, 3).astype(numpy.int32),
              "single": random.random((2, 3)).astype(numpy.float32), "double": random.random(5)}
    shown = {name: {"shape": array.shape, "data": array.flatten().tolist()} for name, array in arrays.items()}
    return pack(header, arrays), {"header": header, "arrays": shown}


def _channels(stops: list[str], part: float) -> list[float]:
    """Returns red, green and blue at the fraction `part` of a colour scale between the colours `stops`."""
    places = numpy.linspace(0, 1, len(stops))
    return [float(numpy.interp(part, places, [int(stop[i:i + 2], 16) for stop in stops])) for i in (1, 3, 5)]


def _random(seed: int) -> numpy.random.Generator:
    return numpy.random.default_rng(seed)
