"""The Explore page: text above; all heads, one head, and the effect of the plan beside each other; more below."""

from __future__ import annotations

import numpy
import streamlit as st
import torch

from app import compute, header, more, serving, session
from app.effect import mean_loss, predictions, token_losses
from app.state import LabState
from app.text import plain, text_row
from components import effect, head_map, heads
from models import HeadPlan, Lab, Trace
from models.attention.selective import selection
from models.checkpoint import CheckpointError


@st.fragment
def page() -> None:
    history = session.history()
    session.fill_widgets()
    header.draw(history)
    try:
        lab = serving.load(history.present.model)
    except CheckpointError as error:
        st.error(plain(str(error)))
        return
    prompt = text_row(lab, history)
    state = history.present
    before = compute.trace_of(lab, prompt, HeadPlan())
    after = compute.trace_of(lab, prompt, state.plan)
    grid, large, panel = st.columns([32, 40, 28], gap="medium")
    with grid:
        _grid(lab, state, after)
    with large:
        _large(lab, state, after)
    with panel:
        effect(key="effect", predictions=predictions(lab, before, after), loss_before=mean_loss(before),
               loss_after=mean_loss(after), tokens=token_losses(before, after), changed=bool(state.plan))
        more.continuation(lab, prompt, state)
    more.below(lab, state, before, after)


def _grid(lab: Lab, state: LabState, trace: Trace) -> None:
    layers, count = lab.shape["self"]
    states = [[state.plan.state("self", layer, head) for head in range(count)] for layer in range(layers)]
    policy, base = state.plan.scale.policy, state.plan.scale.base
    heads(key="heads", maps=trace.weights["self"], causal=True,
          constant=numpy.array([[s.constant for s in row] for row in states]),
          gates=numpy.array([[s.gate for s in row] for row in states], dtype=numpy.float32),
          selection={"layer": state.selection.layer, "head": state.selection.head, "scope": state.selection.scope},
          scale={"policy": policy, "base": base or lab.trained_length}, scalable=lab.scalable,
          on_event=lambda event: session.on_heads(event, lab))


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
