"""A trace as a file, for what the browser does not hold: NumPy, JSON, CSV. Made when it is asked for."""

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
from models.trace import Layer, Said

Maps = Mapping[tuple[str, int], Layer]  # (kind, layer from 0) -> its maps

DIGITS = 7  # after the point, in JSON and CSV: float32 has no more


def maps_of(trace: Trace) -> Maps:
    """All layers of a trace."""
    return {(kind, layer): trace.layer(kind, layer)
            for kind, maps in trace.weights.items() for layer in range(len(maps))}


def about(lab: Lab, said: Said, plan: str, link: str) -> dict[str, Any]:
    """What a file says of itself: where it comes from, and what was computed."""
    return {"made with": "Attention Lab", "link": link, "model": lab.name, "plan": plan,
            "tokens": {row: list(tokens) for row, tokens in said.rows.items()}, "written": said.written}


def as_npz(info: Mapping[str, Any], said: Said, maps: Maps) -> bytes:
    """`KIND LAYER scores`, `live` and `weights`, each (H, N, M) float32, layers from 0; `KIND norms` (L, H, N);
    `losses` (tokens,) nats; `prediction N` (V,) probabilities; and as JSON, for NumPy's texts lose zeros at their end,
    `about`, with the tokens, and `names`, what the vocabulary's V tokens are called."""
    arrays: dict[str, ndarray] = {"about": numpy.array(json.dumps(info)), "losses": said.losses}
    arrays |= {f"{kind} norms": norms for kind, norms in said.norms.items()}
    arrays |= {f"prediction {i}": output.distribution for i, output in enumerate(said.outputs)}
    if said.outputs:
        arrays["names"] = numpy.array(json.dumps(said.outputs[0].names))
    for (kind, layer), its in maps.items():
        arrays |= {f"{kind} {layer} scores": its.scores, f"{kind} {layer} live": its.live,
                   f"{kind} {layer} weights": its.weights}
    file = io.BytesIO()
    numpy.savez_compressed(file, allow_pickle=False, **arrays)
    return file.getvalue()


def as_json(info: Mapping[str, Any], said: Said, maps: Maps) -> bytes:
    """The same as JSON, without scores; of predictions the ten likeliest. What is unknown is null."""
    predictions = [[{"label": output.names[i], "probability": round(float(output.distribution[i]), DIGITS)}
                    for i in output.order[:10]] for output in said.outputs]
    layers = [{"kind": kind, "layer": layer, "live": _numbers(its.live), "weights": _numbers(its.weights)}
              for (kind, layer), its in maps.items()]
    return json.dumps({**info, "losses": _numbers(said.losses), "predictions": predictions,
                       "norms": {kind: _numbers(norms) for kind, norms in said.norms.items()}, "layers": layers},
                      separators=(",", ":")).encode()


def as_csv(info: Mapping[str, Any], said: Said, maps: Maps, causal: Mapping[str, bool]) -> bytes:
    """A row for each weight that was used: kind, layer, head, query and key, all from 1; what no query can see is left
    out."""
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
    return file.getvalue().encode("utf-8-sig", "replace")  # without the mark, Excel reads another encoding


def _numbers(array: ndarray) -> Any:
    """Nested lists; None for what is not finite."""
    if array.ndim > 1:
        return [_numbers(part) for part in array]
    return [round(value, DIGITS) if numpy.isfinite(value) else None for value in array.tolist()]


def file_name(model: str, what: str, ending: str) -> str:
    """Small letters, digits, - and _, like the browser's names of files."""
    parts = [re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-")[:48] for part in (model, what)]
    return "_".join(["attention-lab", *filter(None, parts)]) + f".{ending}"
