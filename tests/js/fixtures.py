"""Fixtures for the JavaScript tests, computed with numpy and with functions of the package `models`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy
import torch
from numpy import ndarray

from components.colours import COLOURS
from components.payload import lower_triangle, pack
from models.nets.attention.selective import accumulate, selection
from models.thumbnails import thumbnails


def write(folder: Path) -> None:
    """Creates a folder and writes all fixtures into it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in {"selective": selective(), "head": head(), "scales": scales(), "tiles": tiles(),
                        "means": means()}.items():
        (folder / f"{name}.json").write_text(json.dumps(value, allow_nan=False), "utf-8")
    blob, expected = payload()
    (folder / "payload.bin").write_bytes(blob)
    (folder / "payload.json").write_text(json.dumps(expected), "utf-8")


def selective(n: int = 9) -> dict[str, Any]:
    """Returns scores, S, F and attention weights of one layer of selective attention.

    S is the selection by one query, and F the selective mask (accumulated votes).
    """
    scores = _random(0).normal(0, 2, (1, 1, n, n)).astype(numpy.float32)
    scores = torch.tensor(scores).masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), -torch.inf)
    selected = selection(scores)
    mask = accumulate(selected)
    # with an additional row at the end: the mask for the next token
    longer = torch.cat([mask[0], mask[0, -1:] + selected[0, -1:]])
    plain, masked = scores[0, 0].softmax(-1), (scores[0, 0] - mask[0]).softmax(-1)
    return {"n": n, "scores": _packed(scores[0, 0].numpy()), "selected": _packed(selected[0].numpy()),
            "F": longer.flatten().tolist(), "plain": plain.tolist(), "masked": masked.tolist(),
            "taken": (1 - numpy.exp(-longer.numpy())).flatten().tolist()}


def head() -> dict[str, Any]:
    """Returns one causal head and one head of cross-attention.

    Each has a constant map, a difference, row sums and entropies. The causal head is square; the cross-attention head
    has 5 queries and 7 keys.
    """
    return {"causal": _head(6, 6, causal=True), "cross": _head(5, 7, causal=False)}


def _head(rows: int, columns: int, causal: bool) -> dict[str, Any]:
    random = _random(rows * columns)

    def weights() -> ndarray:
        scores = random.normal(0, 2, (rows, columns))
        powers = numpy.exp(numpy.tril(scores) if causal else scores) * (numpy.tri(rows) if causal else 1)
        return powers / powers.sum(-1, keepdims=True)

    live, constant = weights(), weights()
    used = 0.5 * live  # rows that do not sum to 1
    logs = numpy.log(live, where=live > 0, out=numpy.zeros_like(live))
    arrays = {"live": live, "constant": constant, "used": used}
    return {"rows": rows, "columns": columns, "causal": causal,
            "arrays": {name: _packed(a) if causal else a.flatten().tolist() for name, a in arrays.items()},
            "live": live.tolist(), "used": used.tolist(), "difference": (constant - live).tolist(),
            "sums": used.sum(-1).tolist(), "entropies": (-(live * logs).sum(-1)).tolist(),
            "most": float(max(a.max() for a in arrays.values()))}


def scales() -> dict[str, Any]:
    """Returns the steps of both colour scales for some numbers, and the colour of each step in both themes."""
    weights = numpy.concatenate([[0, 1e-6, 0.25, 1, 1.5], _random(3).random(40)])
    changes = numpy.concatenate([[0, -1, 1, -3, 3, 1e-6], _random(4).normal(0, 1, 40)])
    signed = numpy.sign(changes) * numpy.sqrt(numpy.minimum(1, numpy.abs(changes) / 2))
    colours = {f"{theme} {name}": [_channels(stops, step / 255) for step in range(256)]
               for theme, scale in COLOURS.items() for name, stops in scale.items()
               if name in ("sequential", "diverging")}
    return {"weights": weights.tolist(), "weight_steps": (255 * numpy.sqrt(numpy.minimum(1, weights))).tolist(),
            "changes": changes.tolist(), "change_steps": (127.5 + 127.5 * signed).tolist(), "colours": colours}


def tiles() -> dict[str, Any]:
    """Returns thumbnails of a causal block and of a block with more keys than queries, packed as for the grid
    component.
    """
    maps = {"causal": numpy.tril(_random(5).random((2, 3, 5, 5))), "cross": _random(6).random((3, 2, 4, 130))}
    return {name: _tiles(thumbnails(its.astype(numpy.float32)), name == "causal") for name, its in maps.items()}


def means() -> dict[str, Any]:
    """Returns attention maps of heads as thumbnails, and their mean weighted by the gates.

    There are three blocks: a causal one, one with more keys than queries, and one whose maps are too large to be sent
    completely.
    """
    return {name: _means(*size, causal) for name, size, causal in (
        ("causal", (2, 3, 6, 6), True), ("cross", (3, 2, 4, 9), False), ("large", (1, 2, 70, 70), True))}


def _means(layers: int, heads: int, rows: int, columns: int, causal: bool) -> dict[str, Any]:
    random = _random(rows * columns + layers)
    powers = numpy.exp(random.normal(0, 2, (layers, heads, rows, columns)))
    powers = numpy.tril(powers) if causal else powers
    weights = powers / powers.sum(-1, keepdims=True)
    gates = random.random((layers, heads)).round(2)
    gates[0, 0] = 0  # a pruned head, which has no weight in the mean
    small = thumbnails(weights.astype(numpy.float32))
    layer = [(gates[i, :, None, None] * weights[i]).sum(0) / gates[i].sum() for i in range(layers)]
    return {**_tiles(small, causal), "gates": gates.tolist(), "queries": rows, "keys": columns,
            "layer": [its.tolist() for its in layer],
            "all": ((gates[..., None, None] * weights).sum((0, 1)) / gates.sum()).tolist()}


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


def _packed(matrix: ndarray) -> list[float]:
    return lower_triangle(matrix).tolist()


def _random(seed: int) -> numpy.random.Generator:
    return numpy.random.default_rng(seed)
