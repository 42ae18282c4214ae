"""Computes the content of the grids of heads and of the large attention map."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy
from numpy import ndarray

from app.texts import _, spelt
from components.heads import Grid
from models import HeadPlan, Kind, Lab, Output, Trace
from models.capabilities import Forgets
from models.kind import TEXT, policies_of
from models.plan import MIN_BASE, Address, HeadState, Scale
from models.prompt import Prompt
from models.thumbnails import thumbnails
from models.trace import Layer, Sketch, with_sink

AnyTrace = Trace | Sketch  # the result of a pass that is shown


def grids(lab: Lab, plan: HeadPlan, trace: AnyTrace,
          notes: Mapping[Address, tuple[str, str]] | None = None) -> dict[str, Any]:
    """Returns the arguments of `components.heads` that depend on the model, the plan and the text.

    Args:
        lab: the model.
        plan: interventions on heads.
        trace: the trace under the plan.
        notes: head -> (a short text below its tile, the same information in words).
    """
    policies = [p for p in policies_of(lab.kinds) if any(p in kind.attention.readings for kind in lab.kinds)]
    usable_plan = usable(lab, plan, trace.prompt)
    return {"grids": [_grid(lab, kind, usable_plan, trace, notes or {}) for kind in lab.kinds],
            "scale": scale_of(lab, plan.scale, len(trace.tokens)), "policies": policies, "model": lab.name}


def head_map(lab: Lab, plan: HeadPlan, trace: AnyTrace, maps: Layer, address: Address, base: ndarray | None,
             prediction: Output | None) -> dict[str, Any]:
    """Returns the arguments of `components.head_map` that depend on the model, the plan and the text.

    Args:
        lab: the model.
        plan: interventions on heads.
        trace: the trace under the plan.
        maps: the maps of the head's layer, under the plan.
        address: the head.
        base: the baseline's pattern of the head, (queries, keys); None if it is not known or nothing has changed.
        prediction: the prediction whose position the map marks; None to mark no position.
    """
    name, layer, head = address
    kind = lab.kind(name)
    queries, keys = spelt(trace.rows[kind.query_row]), spelt(trace.rows[kind.key_row])
    constant = lab.constant_of(name, layer, len(queries), len(keys), plan.scale)
    voted = lab.selected(maps.scores) if isinstance(lab, Forgets) else None
    chosen = state_of(lab, usable(lab, plan, trace.prompt), address)
    sinks = kind.attention.has_sink

    def whole(pattern: ndarray | None) -> ndarray | None:
        return with_sink(pattern) if sinks and pattern is not None else pattern

    return {
        "queries": queries, "keys": None if kind.query_row == kind.key_row else keys,
        "kind_title": _(kind.title) if len(lab.kinds) > 1 else "", "layer": layer, "head": head, "causal": kind.causal,
        "live": whole(maps.live[head]), "weights": whole(maps.weights[head]), "has_sink": sinks,
        "constant": whole(None if constant is None else constant[head]),
        "is_distribution": kind.attention.is_distribution or sinks,
        "scores": None if voted is None else maps.scores[head], "selected": voted,
        "at": prediction.position if prediction is not None and prediction.row == kind.query_row else None,
        "is_constant": chosen.constant, "patched": bool(chosen.patch), "gate": chosen.gate,
        "base": whole(base), "model": lab.name, **_about_tokens(lab, kind, trace.prompt)}


def _about_tokens(lab: Lab, kind: Kind, prompt: Prompt) -> dict[str, Any]:
    """Returns the positions of a chat template's tokens and of tokens that are parts of characters."""
    if kind.query_row != TEXT:
        return {}
    return {"template": prompt.template, "parts": lab.task.bytes_of(prompt.ids)}


def scale_of(lab: Lab, scale: Scale, n: int) -> dict[str, Any]:
    """Returns the score scale for the controls.

    If no scale is chosen, log n is offered with a base of half of the text's n tokens. Rows before position n/2 become
    flatter and rows after this position sharper, so that the entropy does not grow with n.
    """
    trained = any(scale.policy == kind.attention.trained_policy for kind in lab.kinds)
    base = scale.base or max(MIN_BASE, n // 2)
    scale_content: dict[str, Any] = {"policy": "trained" if trained else scale.policy, "base": base}
    return scale_content | ({"note": log_n_note(n, base, lab.kinds[0].causal)} if scale.policy == "logn" else {})


def log_n_note(n: int, base: int, causal: bool) -> str:
    """Returns a sentence about the effect of the log n scale on the scores.

    Args:
        n: number of tokens of the text.
        base: base of the logarithm, in tokens.
        causal: True for a causal mask.

    Returns:
        The sentence in the visitor's language.
    """
    factor = f"{math.log(n) / math.log(base):.2f}"
    if not causal:
        if n <= base:
            return _("Entropy-invariant softmax multiplies the scores by {factor}: this text has {n} tokens and the "
                     "base is at least as large, so every row gets flatter. With a base below {n} rows get sharper.",
                     factor=factor, n=n)
        return _("Entropy-invariant softmax multiplies the scores by {factor}: every query sees all {n} tokens, so "
                 "every row gets sharper.", factor=factor, n=n)
    if n <= base:
        return _("Entropy-invariant softmax multiplies the scores by {factor} at the last of {n} tokens, and by less "
                 "before it: the base is at least {n}, so every row gets flatter. With a base below {n} the last rows "
                 "get sharper.", factor=factor, n=n)
    return _("Entropy-invariant softmax multiplies the scores by {factor} at the last of {n} tokens and by 1 at token "
             "{base}: rows before it get flatter, rows after it sharper, so that entropy grows less with n.",
             factor=factor, n=n, base=base)


def _grid(lab: Lab, kind: Kind, plan: HeadPlan, trace: AnyTrace, notes: Mapping[Address, tuple[str, str]]) -> Grid:
    states = [[state_of(lab, plan, (kind.name, layer, head)) for head in range(kind.heads)]
              for layer in range(kind.layers)]
    return Grid(kind.name, _(kind.title), tiles_of(trace, kind), kind.causal,
                has_sink=kind.attention.has_sink,
                constant=numpy.array([[s.constant for s in row] for row in states]),
                gates=numpy.array([[s.gate for s in row] for row in states], dtype=numpy.float32),
                closed=numpy.array([[(kind.name, layer, head) in lab.closed for head in range(kind.heads)]
                                    for layer in range(kind.layers)]) if lab.closed else None,
                patched=numpy.array([[bool(s.patch) for s in row] for row in states]) if plan.patches else None,
                can_constant=lab.constant is not None,
                notes=[[notes.get((kind.name, layer, head), ("", "")) for head in range(kind.heads)]
                       for layer in range(kind.layers)] if notes else ())


def state_of(lab: Lab, plan: HeadPlan, address: Address) -> HeadState:
    """Returns the state of a head under a plan; a head that training pruned is pruned under every plan."""
    return HeadState(gate=0.0) if address in lab.closed else plan.state(*address)


def usable(lab: Lab, plan: HeadPlan, prompt: Prompt | None = None) -> HeadPlan:
    """Returns the part of a plan that the model can compute.

    Args:
        lab: the model.
        plan: interventions on heads.
        prompt: the prompt that the plan is for.

    Returns:
        The plan, without constant heads if the model has no constant matrices yet, and without patches if the prompt
        has no second prompt.
    """
    if prompt is not None and prompt.source is None:  # a patch takes its values from a second prompt
        plan = plan.without_patches()
    if lab.constant is not None:
        return plan
    return plan.with_heads([address for address, state in plan.heads.items() if state.constant], constant=False)


def tiles_of(seen: AnyTrace, kind: Kind) -> ndarray:
    """Returns thumbnails of the attention maps of one block, under the plan.

    Args:
        seen: trace or sketch.
        kind: attention block.

    Returns:
        (L, H, n, m) uint8; with one more column for a block with an attention sink.
    """
    if isinstance(seen, Sketch):
        return seen.thumbnails[kind.name]
    maps = seen.weights[kind.name]
    if kind.attention.has_sink:
        return thumbnails(maps, has_sink=True)
    # rows that do not sum to 1 are scaled to the largest weight of all heads, which gets the darkest colour
    if not kind.attention.is_distribution:
        maps = maps / max(float(maps.max()), 1e-9)
    return thumbnails(maps)
