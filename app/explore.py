"""The Explore page: text above; all heads, one head, and the effect of the plan beside each other; more below."""

from __future__ import annotations

import numpy
import streamlit as st
import torch
from streamlit.delta_generator import DeltaGenerator

from app import compute, header, more, serving, session, text
from app.effect import mean_loss, predictions, token_losses
from app.state import History, LabState
from app.text import Reading
from components import effect, head_map, heads
from models import Lab, Trace
from models.attention.selective import selection
from models.checkpoint import CheckpointError


@st.fragment
def page() -> None:
    history = session.history()
    try:
        lab = serving.load(history.present.model)
    except CheckpointError as error:
        session.fill_widgets()
        header.draw(history)
        st.error(text.plain(str(error)))
        return
    with serving.one_at_a_time:
        reading, continuation = _draw(lab, history)
    with continuation:  # last: while it writes, it ends the run to begin the next
        more.continuation(lab, reading, history.present)


def _draw(lab: Lab, history: History) -> tuple[Reading, DeltaGenerator]:
    """All but the continuation, whose place it returns."""
    session.fill_widgets()
    reading = text.read(lab, history)
    header.draw(history, reading.prompt.read_chars)
    text.draw(lab, history, reading)
    state = history.present
    before, after = compute.traces_of(lab, reading.prompt, state.plan)
    grid, large, panel = st.columns([32, 40, 28], gap="medium")
    with grid:
        _grid(lab, state, after)
    with large:
        _large(lab, state, after)
    with panel:
        effect(key="effect", predictions=predictions(lab, before, after), index=state.asked,
               loss_before=mean_loss(before), loss_after=mean_loss(after), tokens=token_losses(before, after),
               changed=bool(state.plan), on_event=session.on_effect)
        continuation = st.container()
    more.below(lab, state, before, after)
    return reading, continuation


def _grid(lab: Lab, state: LabState, trace: Trace) -> None:
    layers, count = lab.shape["self"]
    states = [[state.plan.state("self", layer, head) for head in range(count)] for layer in range(layers)]
    scale = state.plan.scale
    heads(key="heads", maps=trace.weights["self"], causal=True,
          constant=numpy.array([[s.constant for s in row] for row in states]),
          gates=numpy.array([[s.gate for s in row] for row in states], dtype=numpy.float32),
          selection={"layer": state.selection.layer, "head": state.selection.head, "scope": state.selection.scope},
          # 1 / sqrt d is what these models were trained with.
          scale={"policy": "logn" if scale.policy == "logn" else "trained", "base": scale.base or lab.trained_length},
          scalable=lab.scalable, on_event=session.on_heads)


def _large(lab: Lab, state: LabState, trace: Trace) -> None:
    layer, head = state.selection.layer, state.selection.head
    n = len(trace.tokens)
    chosen = state.plan.state("self", layer, head)
    selected = None
    if trace.mask is not None:
        selected = selection(torch.tensor(trace.scores["self"][layer:layer + 1]))[0].numpy()
    head_map(key="map", tokens=trace.tokens, layer=layer, head=head, causal=True,
             live=trace.live["self"][layer, head], weights=trace.weights["self"][layer, head],
             constant=lab.constant["self"][layer, head, :n, :n].numpy(),
             scores=trace.scores["self"][layer, head] if selected is not None else None, selected=selected,
             view=state.view, is_constant=chosen.constant, gate=chosen.gate, on_event=session.on_map)
    if selected is not None and head == 0 and (chosen.constant or chosen.gate < 1):
        st.caption(f"Head 1 of layer {layer + 1} also makes the mask F for its whole layer. A plan acts on what a head "
                   "puts out, so its votes still count.")
