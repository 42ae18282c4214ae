"""The Explore page: text above; all heads, one head, and the effect of the plan beside each other; more below."""

from __future__ import annotations

import numpy
import streamlit as st
import torch
from streamlit.delta_generator import DeltaGenerator

from app import compute, frame, more, pruning, session
from app.effect import mean_loss, predictions, token_losses
from app.state import LabState
from app.text import Reading
from components import Grid, effect, head_map, heads, thumbnails
from models import Lab, Trace
from models.attention.selective import selection


@st.fragment
def page() -> None:
    drawn = frame.under_header(_draw)
    if drawn is not None:
        place, *shown = drawn
        with place:  # last: while it writes, it ends the run to begin the next
            more.continuation(*shown)


def _draw(lab: Lab, reading: Reading, state: LabState) -> tuple[DeltaGenerator, Lab, Reading, LabState]:
    """All but the continuation: returns its place and what it continues."""
    state = state.alone(lab.name)
    before, after = compute.traces_of(lab, reading.prompt, state.plan)
    grid, large, panel = st.columns([32, 40, 28], gap="medium")
    with grid:
        grid_of_heads(lab, state, after)
    with large:
        one_head(lab, state, after)
        notes(lab, state)
    with panel:
        effect_of_plan(lab, state, before, after)
        pruning.choose(lab, state)
        continuation = st.container()
    more.below(lab, state, before, after)
    return continuation, lab, reading, state


def grid_of_heads(lab: Lab, state: LabState, trace: Trace, key: str = "heads") -> None:
    """All heads of a model, with the controls of what is selected."""
    layers, count = lab.shape["self"]
    states = [[state.plan.state("self", layer, head) for head in range(count)] for layer in range(layers)]
    scale = state.plan.scale
    maps = trace.weights["self"]
    if not lab.attention.is_distribution:  # the largest weight of all takes the strongest colour
        maps = maps / max(float(maps.max()), 1e-9)
    grid = Grid("self", "Self-attention", thumbnails(maps), causal=lab.model.config.causal,
                constant=numpy.array([[s.constant for s in row] for row in states]),
                gates=numpy.array([[s.gate for s in row] for row in states], dtype=numpy.float32))
    heads(key=key, grids=[grid],
          selection={"kind": "self", "layer": state.selection.layer, "head": state.selection.head,
                     "scope": state.selection.scope},
          scale={"policy": "trained" if scale.policy == lab.attention.trained_policy else scale.policy,
                 "base": scale.base or lab.trained_length},
          policies=[p for p in lab.attention.policies if p != lab.attention.trained_policy],
          on_event=session.on_heads)


def one_head(lab: Lab, state: LabState, trace: Trace, key: str = "map") -> None:
    """The selected head, large."""
    layer, head = state.selection.layer, state.selection.head
    n = len(trace.tokens)
    chosen = state.plan.state("self", layer, head)
    selected = None
    if trace.mask is not None:
        selected = selection(torch.tensor(trace.scores["self"][layer:layer + 1]))[0].numpy()
    head_map(key=key, queries=trace.tokens, layer=layer, head=head, causal=lab.model.config.causal,
             live=trace.live["self"][layer, head], weights=trace.weights["self"][layer, head],
             constant=lab.constant_of(layer, n)[head].numpy(), is_distribution=lab.attention.is_distribution,
             scores=trace.scores["self"][layer, head] if selected is not None else None, selected=selected,
             view=state.view, is_constant=chosen.constant, gate=chosen.gate, on_event=session.on_map)


def effect_of_plan(lab: Lab, state: LabState, before: Trace, after: Trace, key: str = "effect") -> None:
    """What the plan does to predictions and losses."""
    effect(key=key, predictions=predictions(lab, before, after), index=state.asked, loss_before=mean_loss(before),
           loss_after=mean_loss(after), tokens=token_losses(lab, before, after), changed=bool(state.plan),
           on_event=session.on_effect)


def notes(lab: Lab, state: LabState) -> None:
    """What the large map alone does not tell."""
    layer, head = state.selection.layer, state.selection.head
    chosen = state.plan.state("self", layer, head)
    if not lab.attention.reads_text:
        st.caption("These weights are a table: the same for every text, so no query can look for a word, and making "
                   "the head constant changes nothing. Type, and watch the map stay.")
    if not lab.attention.is_distribution:
        st.caption("Rows of relu² need not sum to 1: the strongest colour is the largest weight of this head.")
    if lab.attention.selects and head == 0 and (chosen.constant or chosen.gate < 1):
        st.caption(f"Head 1 of layer {layer + 1} also makes the mask F for its whole layer. A plan acts on what a head "
                   "puts out, so its votes still count.")
