"""Gates computed by the model (models/nets/attention/gated.py), and the attention to the first token."""

from __future__ import annotations

from statistics import fmean

import streamlit as st

from app import compute
from app.compute import AnyTrace
from app.panels.choice.labels import model_label
from app.panels.prompt.heads import selected
from app.server import serving
from app.state.lab_state import LabState
from app.texts import _, spelt
from components.figure import figure, spec_of
from figures.curves.claims import dots
from figures.squares import gate_squares
from models import HeadPlan, Lab, Trace, catalogue
from models.storage.checkpoint import CheckpointError
from models.trace import sink
from studies import store


def offered(trace: AnyTrace) -> bool:
    """Returns True if the model of a trace computes gates.

    Args:
        trace: trace or sketch.

    Returns:
        True or False.
    """
    return bool(trace.gates)


def section(lab: Lab, state: LabState, trace: AnyTrace) -> None:
    """Displays the gates (tokens by heads), and the attention to the first token compared with softmax attention.

    Args:
        lab: the model.
        state: the visitor's state.
        trace: the trace under the plan.
    """
    kind, layer, _head = selected(lab, state)
    gates = trace.gates[kind.name]
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(_("**Gates** of every token and head: an empty bar is a closed gate, a full bar an open gate. The "
                      "model computes the gates from the token. If you set a gate of a head, its gates are multiplied "
                      "by your value."))
        mean = ", ".join(_("layer {layer} {share:.0%}", layer=number, share=values.mean())
                         for number, values in enumerate(gates, 1))
        tokens = spelt(trace.rows[kind.query_row])
        spec = gate_squares.spec(gates.round(4).tolist(), tokens, layer)
        figure(key="gates", spec=spec_of(spec), models=[lab.name], what="gates",
               title=_("Gates of every token and head"), alt=_("Mean of all gates: {mean}", mean=mean))
    with right:
        st.markdown(_("**Attention to the first token**, mean over the queries after it. The weights of a query sum to "
                      "1, so a query without a matching key still has to attend to some token, often to the first; a "
                      "gate lets the head output nothing instead."))
        traces = {lab.name: trace} | _without_gates(lab, trace)
        points = [{"name": _("layer {layer}", layer=number), "value": round(float(share), 4),
                   "which": model_label(name)}
                  for name, gated in traces.items() if isinstance(gated, Trace)
                  for number, share in enumerate(sink(gated.weights[kind.name]).mean(1), 1)]
        summary = "; ".join(f"{point['which']}, {point['name']}: {point['value']:.0%}" for point in points)
        spec = dots.spec(points, _("share of attention"), percent=True)
        figure(key="sink", spec=spec_of(spec),
               title=_("Attention to the first token"), alt=summary, models=list(traces), what="sink")
        if shares := {model_label(name): share for name in traces if (share := _over_texts(name)) is not None}:
            summary = ", ".join(f"{_(name)} {share:.1%}" for name, share in shares.items())
            st.caption(_("On held-out texts, which are longer: {shares}. The page *Results* compares this with the "
                         "paper's values.",
                         shares=summary))


def _over_texts(name: str) -> float | None:
    """Returns the mean attention to the first token over all heads (studies/corpus/sinks.py)."""
    try:
        measured = store.read(name, "sink")
    except CheckpointError:  # the Results page reports the damaged file
        return None
    return fmean(measured["by_window"]) if measured else None


def _without_gates(lab: Lab, trace: AnyTrace) -> dict[str, AnyTrace]:
    """Returns the trace of the family's softmax model on the same prompt; empty without such a model."""
    name = f"{lab.task.name}-softmax"
    if name not in catalogue.names() or name == lab.name:
        return {}
    try:
        other = serving.load(name)
    except CheckpointError:
        return {}
    return {name: compute.traces_of(other, trace.prompt, HeadPlan())[0]}
