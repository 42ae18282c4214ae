"""Exports of a trace as NumPy, JSON or CSV files. The server makes them, because the browser has only thumbnails."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from typing import Any

import numpy
from numpy import ndarray

from models import Lab, Trace
from models.trace import Layer, PassResult

Maps = Mapping[tuple[str, int], Layer]  # (attention block, layer from 0) -> its maps

DIGITS = 7  # decimals in JSON and significant digits in CSV; float32 has no more


def maps_of(trace: Trace) -> Maps:
    """Returns the maps of all layers of a trace.

    Args:
        trace: a full trace.

    Returns:
        (attention block, layer from 0) -> maps.
    """
    return {(kind, layer): trace.layer(kind, layer)
            for kind, maps in trace.weights.items() for layer in range(len(maps))}


def about(lab: Lab, result: PassResult, plan: str, link: str) -> dict[str, Any]:
    """Returns the metadata of an exported file.

    Args:
        lab: the model.
        result: the outputs of the pass.
        plan: the plan as text.
        link: address that opens the same state.

    Returns:
        A mapping for JSON, with the tokens of each row and the generated text.
    """
    return {"made with": "Attention Lab", "link": link, "model": lab.name, "plan": plan,
            "counting": "layers from 1, as on the screen; layers and heads of the plan from 0",
            "tokens": {row: list(tokens) for row, tokens in result.rows.items()}, "written": result.written}


def as_npz(info: Mapping[str, Any], result: PassResult, maps: Maps) -> bytes:
    """Returns the export as a compressed .npz file.

    Args:
        info: metadata from `about`.
        result: the outputs of the pass.
        maps: the attention maps to export.

    Returns:
        A file with these arrays. `KIND LAYER scores`, `KIND LAYER live` and `KIND LAYER weights`: (H, N, M) float32,
        layers from 1, as on the screen. `KIND norms`: (L, H, N). `losses`: (tokens,) in nats. `prediction I`: (V,)
        probabilities.
        `about` (the metadata) and `names` (the V vocabulary entries) are JSON, because NumPy strips trailing zero
        bytes from strings.
    """
    arrays: dict[str, ndarray] = {"about": numpy.array(json.dumps(info)), "losses": result.losses}
    arrays |= {f"{kind} norms": norms for kind, norms in result.norms.items()}
    arrays |= {f"prediction {i}": output.distribution for i, output in enumerate(result.outputs)}
    if result.outputs:
        arrays["names"] = numpy.array(json.dumps(result.outputs[0].names))
    for (kind, layer), its in maps.items():
        name = f"{kind} {layer + 1}"
        arrays |= {f"{name} scores": its.scores, f"{name} live": its.live, f"{name} weights": its.weights}
    file = io.BytesIO()
    numpy.savez_compressed(file, allow_pickle=False, **arrays)
    return file.getvalue()


def as_json(info: Mapping[str, Any], result: PassResult, maps: Maps) -> bytes:
    """Returns the export as JSON, without scores and with the ten most probable tokens of each prediction.

    Args:
        info: metadata from `about`.
        result: the outputs of the pass.
        maps: the attention maps to export.

    Returns:
        UTF-8 bytes; values that are not finite are null.
    """
    predictions = [[{"label": output.names[i], "probability": round(float(output.distribution[i]), DIGITS)}
                    for i in output.order[:10]] for output in result.outputs]
    layers = [{"kind": kind, "layer": layer + 1, "live": _numbers(its.live), "weights": _numbers(its.weights)}
              for (kind, layer), its in maps.items()]
    return json.dumps({**info, "losses": _numbers(result.losses), "predictions": predictions,
                       "norms": {kind: _numbers(norms) for kind, norms in result.norms.items()}, "layers": layers},
                      separators=(",", ":")).encode()


def as_csv(info: Mapping[str, Any], result: PassResult, maps: Maps, causal: Mapping[str, bool]) -> bytes:
    """Returns the attention patterns as CSV, one row per weight.

    Args:
        info: metadata from `about`; model and link are written in the first line, a comment.
        result: not used; every export function has the same first parameters.
        maps: the attention maps to export.
        causal: attention block -> True if its mask is causal; masked weights are omitted.

    Returns:
        UTF-8 bytes with the columns kind, layer, head, query, key and weight; indices count from 1.
    """
    file = io.StringIO()
    file.write(f"# {info['made with']}: {info['model']}. {info['link']}\r\n")
    rows = csv.writer(file)
    rows.writerow(["kind", "layer", "head", "query", "key", "weight"])
    for (kind, layer), its in maps.items():
        for head, weights in enumerate(its.weights, 1):
            seen = numpy.ones(weights.shape, dtype=bool)
            queries, keys = numpy.nonzero(numpy.tril(seen) if causal[kind] else seen)
            rows.writerows((kind, layer + 1, head, i + 1, j + 1, f"{w:.{DIGITS}g}") for i, j, w in
                           zip(queries.tolist(), keys.tolist(), weights[queries, keys].tolist(), strict=True))
    return file.getvalue().encode("utf-8-sig", "replace")  # without a byte order mark Excel assumes another encoding


def _numbers(array: ndarray) -> Any:
    """Returns the array as nested lists, rounded to DIGITS decimals, with None for values that are not finite."""
    if array.ndim > 1:
        return [_numbers(part) for part in array]
    return [round(value, DIGITS) if numpy.isfinite(value) else None for value in array.tolist()]


def file_name(model: str, what: str, ending: str) -> str:
    """Returns a file name of lower-case letters, digits, `-` and `_`, as the browser's exports have.

    Args:
        model: name of the model.
        what: content of the file; may be empty.
        ending: file extension without its dot.

    Returns:
        For example `attention-lab_stories-selective_maps.npz`.
    """
    parts = [re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-")[:48] for part in (model, what)]
    return "_".join(["attention-lab", *filter(None, parts)]) + f".{ending}"
