"""The payload of the Lab's picture: words, tiles, the looking word's rows, the answer and how it forms."""

from typing import Any

import numpy
from numpy import ndarray

from app.content import effect
from app.content.view import View
from app.state.lab_view import CONTRIBUTIONS, GUESSES
from app.texts import _, spelt
from components.mounting import Content
from components.payload import lower_triangle
from models import Kind, Lab
from models.kind import TARGET
from models.thumbnails import encoded, pooled, thumbnails
from models.trace import Sketch, Trace, with_sink

SIDE = 36  # largest side of a tile; up to this many tokens a tile is the whole map
MASK_STEP = 16  # steps of the mask F per unit


def content(view: View) -> Content:
    arrays: dict[str, ndarray] = {}
    lab, trace = view.lab, view.after
    hides = view.state.hides_answer
    header = {
        "tokens": {row: spelt(tokens) for row, tokens in trace.rows.items()},
        "special": {"text": [i for i, is_text in enumerate(lab.task.is_text(trace.prompt.ids)) if not is_text]},
        "template": list(trace.prompt.template), "parts": lab.task.bytes_of(trace.prompt.ids),
        "kinds": [_block(view, kind, arrays) for kind in lab.kinds],
        "selection": {"kind": view.kind.name, "layer": view.state.selection.layer, "head": view.state.selection.head,
                      "scope": view.state.selection.scope},
        "look": view.look, "at": view.at, "changed": view.changed, "can_constant": lab.constant is not None,
        "moved": view.changed and view.chooses,
        "predicts": [output.position for output in trace.outputs],
        "hidden": hides, "answer": None if hides else _answer(view),
        "contributions": None if hides else _contributions(view, arrays), "guesses": None if hides else _guesses(view),
        "scale": effect.scale_of(lab, view.state.plan.scale, len(trace.tokens)),
        "marks": {"contributions": CONTRIBUTIONS in view.state.lab.marks, "guesses": GUESSES in view.state.lab.marks},
    }
    header["losses"] = header["losses_before"] = None
    if not hides:
        _losses(view, header)
    if isinstance(trace, Trace) and trace.mask is not None:
        rows = trace.mask[:, view.look]
        arrays["mask"] = numpy.clip(rows * MASK_STEP + 0.5, 0, 255).astype(numpy.uint8)
        header["mask_step"] = MASK_STEP
    return header, arrays


def model(lab: Lab, title: str) -> dict[str, Any]:
    """Returns the description of the model; `kind` chooses the sentences about its answer."""
    task = lab.task
    kind = "picture" if task.sees else "pair" if any(kind.query_row == TARGET for kind in lab.kinds) else \
        "masked" if task.hides else "next" if task.predicts_next else "lookup"
    return {"name": lab.name, "title": title, "kind": kind, "note": _(task.title), "writes": task.writes}


def _block(view: View, kind: Kind, arrays: dict[str, ndarray]) -> dict[str, Any]:
    """Returns the description of one attention block; adds its tiles and, where tiles are pooled, its rows."""
    lab, trace, plan = view.lab, view.after, view.plan
    states = [[effect.state_of(lab, plan, (kind.name, layer, head)) for head in range(kind.heads)]
              for layer in range(kind.layers)]
    n, m = (len(trace.rows[row]) for row in (kind.query_row, kind.key_row))
    (tiles, most), is_exact = _tiles(trace, kind), max(n, m) <= SIDE
    packed = kind.causal and not kind.attention.has_sink and tiles.shape[2] == tiles.shape[3]
    arrays[f"tiles.{kind.name}"] = lower_triangle(tiles) if packed else tiles
    if not is_exact and kind.query_row == view.kind.query_row:
        look = min(view.look, n - 1)
        arrays[f"rows.{kind.name}"] = encoded(trace.weights[kind.name][:, :, look]) if isinstance(trace, Trace) else \
            encoded(view.layer(kind=kind.name).weights[:, look])[None]
    if kind.name in trace.gates and kind.query_row == view.kind.query_row:
        arrays[f"gates.{kind.name}"] = trace.gates[kind.name][:, :, view.look].astype(numpy.float32)
    elif kind.query_row == view.kind.query_row and kind.attention.is_distribution and view.changed:
        maps = [each.weights[kind.name] for each in view.traces if isinstance(each, Trace)]
        if len(maps) == 2 and maps[0].shape == maps[1].shape:
            moved = abs(maps[1][:, :, view.look] - maps[0][:, :, view.look]).sum(-1) / 2  # the share of other words now
            arrays[f"moved.{kind.name}"] = moved.astype(numpy.float32)
    closed = [[(kind.name, layer, head) in lab.closed for head in range(kind.heads)] for layer in range(kind.layers)]
    return {"kind": kind.name, "title": _(kind.title), "layers": kind.layers, "heads": kind.heads,
            "causal": kind.causal, "queries": kind.query_row, "keys": kind.key_row, "side": list(tiles.shape[2:]),
            "packed": packed, "exact": is_exact, "most": most, "selects": kind.attention.selects,
            "has_sink": kind.attention.has_sink, "is_distribution": kind.attention.is_distribution,
            "reads_text": kind.attention.reads_text, "gated": kind.name in trace.gates,
            "constant": [[state.constant for state in row] for row in states],
            "gates": [[round(state.gate, 4) for state in row] for row in states],
            "closed": closed if lab.closed else None,
            "patched": [[bool(state.patch) for state in row] for row in states] if plan.patches else None}


def _tiles(trace: Trace | Sketch, kind: Kind) -> tuple[ndarray, float]:
    """Returns the tiles (L, H, n, m) of a block under the plan, and the weight of the strongest colour."""
    if isinstance(trace, Sketch):
        return pooled(trace.thumbnails[kind.name], SIDE), 1.0
    maps, most = trace.weights[kind.name], 1.0
    if not kind.attention.is_distribution and not kind.attention.has_sink:
        most = max(float(maps.max()), 1e-9)  # rows of relu² need not sum to 1
    return thumbnails(maps / most, kind.attention.has_sink, SIDE), most


def selected_map(view: View, which: str) -> ndarray | None:
    """Returns a pattern of the selected head, packed if causal, for `used`, `computed` or `constant`."""
    kind, layer, head = view.head
    maps = view.layer()
    if which == "constant":
        n, m = maps.weights.shape[1:]
        constants = view.lab.constant_of(kind, layer, n, m, view.state.plan.scale)
        weights = None if constants is None else constants[head]
    else:
        weights = (maps.live if which == "computed" else maps.weights)[head]
    if weights is None:
        return None
    if view.kind.attention.has_sink:
        return encoded(with_sink(weights))
    return lower_triangle(encoded(weights)) if view.kind.causal else encoded(weights)


def _answer(view: View) -> dict[str, Any] | None:
    before, after = view.before, view.after
    if before.vectors is not None:
        return {"vector": effect.in_vectors(before, after)}
    if view.output is None:
        return None
    shown = effect.prediction(view.lab, before, after, view.index)
    return shown | {"loss_before": effect.mean_loss(before), "loss_after": effect.mean_loss(after)}


def _losses(view: View, header: dict[str, Any]) -> None:
    if view.before.vectors is None:
        header["losses"] = effect.token_losses(view.lab, view.after)
        header["losses_before"] = effect.token_losses(view.lab, view.before) if view.changed else None


def _contributions(view: View, arrays: dict[str, ndarray]) -> dict[str, Any] | None:
    """Returns the contributions to the shown token's logit; adds the stubs of heads and MLPs."""
    if CONTRIBUTIONS not in view.state.lab.marks:
        return None
    try:
        before, after = view.formations
    except ValueError as error:
        return {"message": _(str(error))}
    label, labels = shown_token(view)
    token, layers = label["id"], max(kind.layers for kind in view.lab.kinds)
    result: dict[str, Any] = {"token": label, "choices": labels}
    named = [("", after), ("_before", before)] if view.changed else [("", after)]
    for suffix, writes in named:
        heads, rest = writes.contributions(token, before)
        for kind, values in heads.items():
            arrays[f"stubs{suffix}.{kind}"] = values.astype(numpy.float32)
        arrays[f"stubs{suffix}.mlp"] = numpy.array([rest.get(f"mlp {i}", 0.0) for i in range(layers)], numpy.float32)
        result["rest" + suffix] = {name: value for name, value in rest.items() if not name.startswith("mlp ")}
    return result


def shown_token(view: View) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Returns {id, label} of the token whose logit is explained, and of the tokens that can be chosen."""
    assert view.output is not None
    choices, chosen = list(dict.fromkeys(view.tokens)), view.state.explanation.token
    token = chosen if 0 <= chosen < len(view.output.names) else choices[0]
    labels = [{"id": i, "label": spelt([view.output.names[i]])[0]} for i in dict.fromkeys([*choices, token])]
    return next(label for label in labels if label["id"] == token), labels


def _guesses(view: View) -> dict[str, Any] | None:
    """Returns the guesses for the picture; None if they are switched off."""
    if GUESSES not in view.state.lab.marks:
        return None
    try:
        return guesses(view)
    except ValueError as error:
        return {"message": _(str(error))}


def guesses(view: View) -> dict[str, Any]:
    """Returns the prediction after each layer, and the probability there of the token of the contributions."""
    before, after = view.formations
    token = shown_token(view)[0]["id"]
    ids, probabilities, chances = after.guesses([token])
    labels = view.lab.task.labels
    layers = [[{"label": spelt([labels[i]])[0], "p": round(float(p), 5)} for i, p in zip(*row, strict=True)]
              for row in zip(ids, probabilities, strict=True)]
    return {"layers": layers, "token": spelt([labels[token]])[0], "chance": chances[:, 0].round(5).tolist(),
            "before": before.guesses([token])[2][:, 0].round(5).tolist() if view.changed else None}
