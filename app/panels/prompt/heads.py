"""The heads of a model: a grid of thumbnails with controls, and the large map of the selected head."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy

from app import compute
from app.compute import Seen
from app.state.handlers import head_events
from app.state.lab_state import LAST, LabState
from app.texts import _, spelt
from components import Grid, Part, head_map, heads, mount
from models import Kind, Lab, Output, Trace
from models.kind import policies_of
from models.plan import MIN_BASE, Address, HeadPlan, HeadState, Scale


def grid(lab: Lab, state: LabState, trace: Seen, key: str = "heads", bare: bool = False, led: bool = True,
         files: bool = False, notes: Mapping[Address, tuple[str, str]] | None = None) -> None:
    """Draws all heads, one grid per attention block; arguments as of `grid_part`."""
    mount(grid_part(lab, state, trace, key, bare, led, files, notes))


def grid_part(lab: Lab, state: LabState, trace: Seen, key: str = "heads", bare: bool = False, led: bool = True,
              files: bool = False, notes: Mapping[Address, tuple[str, str]] | None = None) -> Part:
    """Returns all heads, one grid per attention block, with the controls of the selected heads.

    Args:
        lab: the model.
        state: the visitor's state.
        trace: the trace under the plan.
        key: key of the component.
        bare: True for no controls.
        led: True for a sentence above that explains the tiles.
        files: True if the page also offers files of all numbers (export.py).
        notes: head -> a short text in the corner of its tile, and the same in words.
    """
    selection, scale = state.selection, state.plan.scale
    policies = [p for p in policies_of(lab.kinds) if any(p in kind.attention.readings for kind in lab.kinds)]
    return heads.part(
        key=key, grids=[_grid(lab, kind, state, trace, notes or {}) for kind in lab.kinds],
        selection={"kind": selection.kind, "layer": selection.layer, "head": selection.head,
                   "scope": selection.scope},
        scale=scale_of(lab, scale, len(trace.tokens)), policies=policies, bare=bare, led=led, model=lab.name,
        files=files, on_event=head_events.on_heads)


def scale_of(lab: Lab, scale: Scale, n: int) -> dict[str, Any]:
    """Returns the scale for the controls.

    If no scale is chosen, log n is offered with half of the text's n tokens as its base: rows before it become flatter
    and rows after it sharper, so that the entropy does not grow with n.
    """
    trained = any(scale.policy == kind.attention.trained_policy for kind in lab.kinds)
    base = scale.base or max(MIN_BASE, n // 2)
    shown: dict[str, Any] = {"policy": "trained" if trained else scale.policy, "base": base}
    return shown | ({"note": log_n_note(n, base, lab.kinds[0].causal)} if scale.policy == "logn" else {})


def log_n_note(n: int, base: int, causal: bool) -> str:
    """Returns a sentence about the effect of the log n scale on the scores.

    Args:
        n: tokens of the text.
        base: base of the logarithm, in tokens.
        causal: True for a causal mask.

    Returns:
        The sentence in the visitor's language.
    """
    factor = f"{math.log(n) / math.log(base):.2f}"
    if not causal:
        if n <= base:
            return _("Scores × {factor}: this text has {n} tokens and the base is not below it, so every row gets "
                     "flatter. With a base below {n} rows get sharper.", factor=factor, n=n)
        return _("Scores × {factor}: every query sees all {n} tokens, so every row gets sharper.", factor=factor, n=n)
    if n <= base:
        return _("Scores × {factor} at the last of {n} tokens, and less before it: the base is not below the text's "
                 "length, so every row gets flatter. With a base below {n} the last rows get sharper.",
                 factor=factor, n=n)
    return _("Scores × {factor} at the last of {n} tokens, × 1 at token {base}: rows before it get flatter, rows after "
             "it sharper, so that entropy grows less with n.", factor=factor, n=n, base=base)


def _grid(lab: Lab, kind: Kind, state: LabState, trace: Seen, notes: Mapping[Address, tuple[str, str]]) -> Grid:
    plan = compute.usable(lab, state.plan)
    states = [[_state(lab, plan, (kind.name, layer, head)) for head in range(kind.heads)]
              for layer in range(kind.layers)]
    return Grid(kind.name, _(kind.title), compute.tiles_of(trace, kind), kind.causal,
                constant=numpy.array([[s.constant for s in row] for row in states]),
                gates=numpy.array([[s.gate for s in row] for row in states], dtype=numpy.float32),
                closed=numpy.array([[(kind.name, layer, head) in lab.closed for head in range(kind.heads)]
                                    for layer in range(kind.layers)]) if lab.closed else None,
                can_constant=lab.constant is not None,
                notes=[[notes.get((kind.name, layer, head), ("", "")) for head in range(kind.heads)]
                       for layer in range(kind.layers)] if notes else ())


def _state(lab: Lab, plan: HeadPlan, address: Address) -> HeadState:
    """Returns the state of a head under a plan; a head that training pruned is pruned under every plan."""
    return HeadState(gate=0.0) if address in lab.closed else plan.state(*address)


def large_part(lab: Lab, state: LabState, before: Seen, trace: Seen, key: str = "map") -> Part:
    """Returns the large attention map of the selected head.

    Args:
        lab: the model.
        state: the visitor's state.
        before: the baseline trace.
        trace: the trace under the plan.
        key: key of the component.

    Returns:
        The component.
    """
    kind, layer, head = selected(lab, state)
    maps = compute.layer_of(lab, trace, state.plan, kind.name, layer)
    queries, keys = spelt(trace.rows[kind.query_row]), spelt(trace.rows[kind.key_row])
    constant = lab.constant_of(kind.name, layer, len(queries), len(keys), state.plan.scale)
    voted = lab.selected(maps.scores)
    chosen = _state(lab, compute.usable(lab, state.plan), (kind.name, layer, head))
    asked = _asked(trace, state)
    changed = before is not trace
    # A sketch has no maps, so the baseline's maps need another pass, which is run only for the view that shows them.
    has_base = changed and (isinstance(before, Trace) or state.view == "change")
    base = compute.layer_of(lab, before, HeadPlan(), kind.name, layer).weights[head] if has_base else None
    return head_map.part(
        key=key, queries=queries, keys=None if kind.query_row == kind.key_row else keys,
        kind_title=_(kind.title) if len(lab.kinds) > 1 else "", layer=layer, head=head, causal=kind.causal,
        live=maps.live[head], weights=maps.weights[head],
        constant=None if constant is None else constant[head], is_distribution=kind.attention.is_distribution,
        scores=None if voted is None else maps.scores[head], selected=voted,
        view=state.view, form=state.form, mean=state.mean,
        at=asked.position if asked is not None and asked.row == kind.query_row else None,
        is_constant=chosen.constant, gate=chosen.gate, changed=changed, base=base, model=lab.name,
        remarks=remarks(lab, state), on_event=head_events.on_map)


def _asked(trace: Seen, state: LabState) -> Output | None:
    """Returns the prediction that the effect panel shows."""
    there = -len(trace.outputs) <= state.asked < len(trace.outputs)
    return trace.outputs[state.asked if there else LAST] if trace.outputs else None


def remarks(lab: Lab, state: LabState) -> list[str]:
    """Returns sentences below the large map, for properties that the map does not show.

    Args:
        lab: the model.
        state: the visitor's state.

    Returns:
        Sentences; names of controls are between stars.
    """
    found = []
    kind, layer, head = selected(lab, state)
    chosen = state.plan.state(kind.name, layer, head)
    if lab.constant is None and any(its.constant for its in state.plan.heads.values()):
        found.append(_("Some heads are to be constant and wait for their matrices: make them on the page *Your "
                       "model*."))
    elif lab.constant is None:
        found.append(_("For constant heads this model needs matrices: make them on the page *Your model*."))
    if (kind.name, layer, head) in lab.closed:
        found.append(_("Learned gates have closed this head, and training went on without it: it puts out nothing, "
                       "whatever its gate is here."))
    if not kind.attention.reads_text:
        found.append(_("These weights are a table: the same for every text, so no query can look for a word, and "
                       "making the head constant changes nothing. Type, and watch the map stay."))
    if not kind.attention.is_distribution:
        found.append(_("Rows of relu² need not sum to 1. In the matrix the strongest colour is the largest weight of "
                       "this head; in the view *Words* the numbers are shares of a row."))
    if kind.attention.selects and head == 0 and (chosen.constant or chosen.gate < 1):
        found.append(_("Head 1 of layer {layer} also makes the mask F for its whole layer. Your changes act on what a "
                       "head puts out, so its votes still count.", layer=layer + 1))
    return found


def selected(lab: Lab, state: LabState) -> tuple[Kind, int, int]:
    """Returns the selected head.

    Args:
        lab: the model.
        state: the visitor's state.

    Returns:
        Attention block, layer and head, both from 0.
    """
    return lab.kind(state.selection.kind), state.selection.layer, state.selection.head
