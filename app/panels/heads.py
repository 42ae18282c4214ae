"""The heads of a model: all of them as a grid with controls, and the selected one large."""

from __future__ import annotations

import numpy
import streamlit as st

from app import compute
from app.compute import Seen
from app.state import events
from app.state.lab_state import LabState
from app.texts import _
from components import Grid, head_map, heads
from models import Kind, Lab
from models.heads import MAX_BASE
from models.kind import policies_of


def grid(lab: Lab, state: LabState, trace: Seen, key: str = "heads") -> None:
    """All heads, a grid a kind, with the controls of what is selected."""
    selection, scale = state.selection, state.plan.scale
    trained = any(scale.policy == kind.attention.trained_policy for kind in lab.kinds)
    policies = [p for p in policies_of(lab.kinds) if any(p in kind.attention.readings for kind in lab.kinds)]
    heads(key=key, grids=[_grid(lab, kind, state, trace) for kind in lab.kinds],
          selection={"kind": selection.kind, "layer": selection.layer, "head": selection.head,
                     "scope": selection.scope},
          scale={"policy": "trained" if trained else scale.policy,
                 "base": scale.base or min(lab.trained_length, MAX_BASE)},
          policies=policies, on_event=events.on_heads)


def _grid(lab: Lab, kind: Kind, state: LabState, trace: Seen) -> Grid:
    plan = compute.usable(lab, state.plan)
    states = [[plan.state(kind.name, layer, head) for head in range(kind.heads)] for layer in range(kind.layers)]
    return Grid(kind.name, _(kind.title), compute.tiles_of(trace, kind), kind.causal,
                constant=numpy.array([[s.constant for s in row] for row in states]),
                gates=numpy.array([[s.gate for s in row] for row in states], dtype=numpy.float32),
                can_constant=lab.constant is not None)


def large(lab: Lab, state: LabState, trace: Seen, key: str = "map") -> None:
    """The selected head, large."""
    kind, layer, head = selected(lab, state)
    maps = compute.layer_of(lab, trace, state.plan, kind.name, layer)
    queries, keys = trace.rows[kind.query_row], trace.rows[kind.key_row]
    constant = lab.constant_of(kind.name, layer, len(queries), len(keys))
    voted = lab.selected(maps.scores)
    chosen = compute.usable(lab, state.plan).state(kind.name, layer, head)
    head_map(key=key, queries=list(queries), keys=None if kind.query_row == kind.key_row else list(keys),
             kind_title=_(kind.title) if len(lab.kinds) > 1 else "", layer=layer, head=head, causal=kind.causal,
             live=maps.live[head], weights=maps.weights[head],
             constant=None if constant is None else constant[head], is_distribution=kind.attention.is_distribution,
             scores=None if voted is None else maps.scores[head], selected=voted,
             view=state.view, is_constant=chosen.constant, gate=chosen.gate, on_event=events.on_map)


def notes(lab: Lab, state: LabState) -> None:
    """What the large map alone does not tell."""
    kind, layer, head = selected(lab, state)
    chosen = state.plan.state(kind.name, layer, head)
    if lab.constant is None:
        waiting = any(its.constant for its in state.plan.heads.values())
        st.caption(_("The plan has constant heads, which wait for their matrices: make them on the page *Your model*.")
                   if waiting else
                   _("For constant heads this model needs matrices: make them on the page *Your model*."))
    if not kind.attention.reads_text:
        st.caption(_("These weights are a table: the same for every text, so no query can look for a word, and "
                     "making the head constant changes nothing. Type, and watch the map stay."))
    if not kind.attention.is_distribution:
        st.caption(_("Rows of relu² need not sum to 1: the strongest colour is the largest weight of this head."))
    if kind.attention.selects and head == 0 and (chosen.constant or chosen.gate < 1):
        st.caption(_("Head 1 of layer {layer} also makes the mask F for its whole layer. A plan acts on what a head "
                     "puts out, so its votes still count.", layer=layer + 1))


def selected(lab: Lab, state: LabState) -> tuple[Kind, int, int]:
    """The selected head: its kind, its layer, its number."""
    return lab.kind(state.selection.kind), state.selection.layer, state.selection.head
