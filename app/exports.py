"""Exports of a trace as NumPy, JSON or CSV files. The server makes them, because the browser has only thumbnails."""

import csv
import io
import json
import re
from collections.abc import Container, Iterable, Mapping
from typing import Any

import numpy
from numpy import ndarray

from app import compute
from app.content.effect import state_of
from app.panels import measures
from models import HeadPlan, Lab, Trace
from models.analysis.answer.json_values import DIGITS, divergences, effect, number, numbers
from models.prompt import Prompt
from models.trace import Layer, PassResult, scores_with_sink, with_sink

Maps = Mapping[tuple[str, int], Layer]  # (attention block, layer from 0) -> its maps
TYPES = {"npz": "application/octet-stream", "json": "application/json", "csv": "text/csv",
         "zip": "application/zip", "html": "text/html"}


def content_of(ending: str, lab: Lab, prompt: Prompt, plan: HeadPlan,
               of_layer: tuple[str, int] | None, link: str) -> bytes:
    """Returns the file's content; `of_layer`, (attention block, layer), if the maps of all layers are too large."""
    before, seen = compute.traces_of(lab, prompt, plan)
    if isinstance(seen, Trace):
        maps = maps_of(seen)
    else:
        kind, layer = of_layer or (lab.kinds[0].name, 0)
        maps = {(kind, layer): compute.layer_of(lab, seen, plan, kind, layer)}
    maps = with_sinks(lab, maps)
    plan = compute.usable(lab, plan, prompt)
    info = about(lab, seen, str(plan), link)
    if ending == "csv":
        return as_csv(info, before, seen, maps, {kind.name: kind.causal for kind in lab.kinds},
                              sinks_of(lab))
    corpus = measures.over_a_corpus(lab)
    values = {"text": measures.of_text(lab, before), "corpus": measures.of_corpus(lab, corpus)}
    info["heads"] = heads_of(lab, plan, values, corpus.get("roles", ()))
    return (as_npz if ending == "npz" else as_json)(info, before, seen, maps)


def maps_of(trace: Trace) -> Maps:
    return {(kind, layer): trace.layer(kind, layer)
            for kind, maps in trace.weights.items() for layer in range(len(maps))}


def with_sinks(lab: Lab, maps: Maps) -> Maps:
    """Returns the maps with one more column, the last, for the attention sinks of the blocks that have any."""
    return {(kind, layer): Layer(scores_with_sink(layer_maps.scores, layer_maps.live), with_sink(layer_maps.live),
                                 with_sink(layer_maps.weights))
            if kind in sinks_of(lab) else layer_maps for (kind, layer), layer_maps in maps.items()}


def sinks_of(lab: Lab) -> list[str]:
    """Returns the names of the attention blocks that have an attention sink."""
    return [kind.name for kind in lab.kinds if kind.attention.has_sink]


def about(lab: Lab, result: PassResult, plan: str, link: str) -> dict[str, Any]:
    source = result.prompt.source
    return {"made with": "Attention Lab", "link": link, "model": lab.name, "plan": plan,
            "counting": "layers from 1, as on the screen; layers and heads of the plan from 0",
            "tokens": {row: list(tokens) for row, tokens in result.rows.items()}, "written": result.written,
            **({"sink": "the last column of a map is the attention sink, which is no token"} if sinks_of(lab) else {}),
            **({} if source is None else {"second prompt": list(source.tokens)})}


def heads_of(lab: Lab, plan: HeadPlan, measures: Mapping[str, Mapping[str, ndarray]],
             roles: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns every head with its state, roles and measures: source -> name -> (heads,), as Kind.addresses."""
    rows = []
    for i, (kind, layer, head) in enumerate(address for block in lab.kinds for address in block.addresses):
        state = state_of(lab, plan, (kind, layer, head))
        rows.append({
            "kind": kind, "layer": layer + 1, "head": head + 1, "constant": state.constant, "gate": state.gate,
            "patch": state.patch,
            "roles": [{"role": role["role"], "share": role.get("share")} for role in roles
                      if (role["kind"], role["layer"], role["head"]) == (kind, layer, head)],
            **{source: {name: number(values[i]) for name, values in block.items()} for source,
               block in measures.items()}})
    return rows


def as_npz(info: Mapping[str, Any], before: PassResult, result: PassResult, maps: Maps) -> bytes:
    """Returns the export as a compressed .npz file.

    `KIND LAYER scores`, `KIND LAYER live` and `KIND LAYER weights`: (H, N, M) float32, layers from 1, as on the screen.
    `KIND norms`: (L, H, N). `losses`: (tokens,) in nats. `prediction I`: (V,) probabilities. `losses unmodified` and
    `prediction I unmodified`: the same without the plan. `kl`: (predictions,) KL divergence from the unmodified model
    in nats. `about` (the metadata) and `names` (the V vocabulary entries) are JSON, because NumPy strips trailing zero
    bytes from strings.
    """
    arrays: dict[str, ndarray] = {"about": numpy.array(json.dumps(info)), "losses": result.losses}
    arrays |= {f"{kind} norms": norms for kind, norms in result.norms.items()}
    arrays |= {f"prediction {i}": output.distribution for i, output in enumerate(result.outputs)}
    arrays |= {"losses unmodified": before.losses, "kl": numpy.array(divergences(before, result))}
    arrays |= {f"prediction {i} unmodified": output.distribution for i, output in enumerate(before.outputs)}
    if result.outputs:
        arrays["names"] = numpy.array(json.dumps(result.outputs[0].names))
    for (kind, layer), layer_maps in maps.items():
        name = f"{kind} {layer + 1}"
        arrays |= {f"{name} scores": layer_maps.scores, f"{name} live": layer_maps.live,
                   f"{name} weights": layer_maps.weights}
    file = io.BytesIO()
    numpy.savez_compressed(file, allow_pickle=False, **arrays)
    return file.getvalue()


def as_json(info: Mapping[str, Any], before: PassResult, result: PassResult, maps: Maps) -> bytes:
    """Returns JSON without scores, with ten tokens per prediction; null for values that are not finite."""
    layers = [{"kind": kind, "layer": layer + 1, "live": numbers(layer_maps.live),
               "weights": numbers(layer_maps.weights)}
              for (kind, layer), layer_maps in maps.items()]
    return json.dumps({**info, **effect(before, result),
                       "norms": {kind: numbers(norms) for kind, norms in result.norms.items()}, "layers": layers},
                      separators=(",", ":")).encode()


def as_csv(info: Mapping[str, Any], before: PassResult, result: PassResult, maps: Maps,
           causal: Mapping[str, bool], sinks: Container[str] = ()) -> bytes:
    """Returns the attention patterns as CSV: kind, layer, head, query, key and weight, counted from 1.

    The first line is a comment with model, link, plan, losses and KL divergences. Weights that a causal mask hides are
    omitted. The key of an attention sink is `sink`.
    """
    file = io.StringIO()
    words = [f"plan: {info['plan'] or 'none'}"]
    if numpy.isfinite([before.loss, result.loss]).all():
        words.append(f"loss: {before.loss:.4f} unmodified, {result.loss:.4f} nats under the plan")
    if result.outputs:
        words.append("KL divergence of each prediction in nats: "
                      + ", ".join(f"{kl:.{DIGITS}g}" for kl in divergences(before, result)))
    file.write(f"# {info['made with']}: {info['model']}. {info['link']} {'; '.join(words)}\r\n")
    rows = csv.writer(file)
    rows.writerow(["kind", "layer", "head", "query", "key", "weight"])
    for (kind, layer), layer_maps in maps.items():
        for head, weights in enumerate(layer_maps.weights, 1):
            seen = numpy.ones(weights.shape, dtype=bool)
            if causal[kind]:
                seen = numpy.tril(seen)
            names = [*range(1, weights.shape[1] + 1)]
            if kind in sinks:
                seen[:, -1] = True
                names[-1:] = ["sink"]
            queries, keys = numpy.nonzero(seen)
            rows.writerows((kind, layer + 1, head, i + 1, names[j], f"{w:.{DIGITS}g}") for i, j, w in
                           zip(queries.tolist(), keys.tolist(), weights[queries, keys].tolist(), strict=True))
    return file.getvalue().encode("utf-8-sig", "replace")  # without a byte order mark Excel assumes another encoding


def file_name(model: str, what: str, ending: str) -> str:
    """Returns a file name like `attention-lab_stories-selective_maps.npz`, in the format of the browser's exports."""
    parts = [re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-")[:48] for part in (model, what)]
    return "_".join(["attention-lab", *filter(None, parts)]) + f".{ending}"
