"""The Compare page: up to four models of a family on one text, with one selection and one plan for all."""

from __future__ import annotations

import math

import streamlit as st

from app import compute, explore, frame, serving, session, text
from app.effect import mean_loss, predictions, token_losses
from app.state import MAX_COMPARED, LabState, family_of
from app.text import Reading
from components import effect
from components.charts import row_entropy_chart, row_entropy_table
from models import Lab, Trace
from models.checkpoint import CheckpointError
from models.tasks.base import InputError
from models.trace import divergence, row_entropy

FACTS = 56  # pixels


@st.fragment
def page() -> None:
    frame.under_header(_draw)


def _draw(first: Lab, reading: Reading, state: LabState) -> None:
    choose(first.name)
    if not state.compared:
        st.info("Nothing to compare yet: choose up to three models to stand beside this one.")
    _columns(first, state, reading.shown)


def choose(first: str) -> None:
    """The models beside the first one."""
    st.multiselect("Beside it", [name for name in family_of(first) if name != first], key=session.COMPARED,
                   max_selections=MAX_COMPARED, on_change=session.on_compared, label_visibility="collapsed",
                   placeholder=f"Choose up to three models to stand beside {first}")


def _columns(first: Lab, state: LabState, shown: str) -> None:
    names = (first.name, *state.compared)
    traces: dict[str, Trace] = {}
    for index, (column, name) in enumerate(zip(st.columns(max(2, len(names)), gap="small"), names, strict=False)):
        with column:
            trace = _column(name, index, state, shown, traces.get(first.name))
            if trace is not None:
                traces[name] = trace
    if traces:
        st.markdown(f"**Entropy of each row**, layer {state.selection.layer + 1}, head {state.selection.head + 1}, "
                    "as used; dotted: ln n, the most there can be.")
        table = row_entropy_table({name: entropies(trace, state) for name, trace in traces.items()},
                                  first.model.config.causal)
        st.altair_chart(row_entropy_chart(table))
        st.download_button("Entropies as CSV", table.to_csv(index=False), "compare-entropy.csv", "text/csv",
                           on_click="ignore")


def entropies(trace: Trace, state: LabState) -> list[float]:
    """(N,) nats of the selected head's rows; a row of relu² is made to sum to 1 first."""
    layers, heads = trace.weights["self"].shape[:2]
    at = state.selection.within(layers, heads)
    rows = trace.weights["self"][at.layer, at.head]
    return row_entropy(rows).tolist()


def _column(name: str, index: int, state: LabState, shown: str, first: Trace | None) -> Trace | None:
    """One model; None, with the reason on the page, if it cannot read this text."""
    st.markdown(f"**{text.plain(name)}**")
    try:
        lab = serving.load(name)
        prompt = compute.read(lab, shown)
    except (CheckpointError, InputError) as error:
        st.error(text.plain(str(error)))
        return None
    if lab.model.longest == lab.limit and prompt.left_out:
        st.warning(f"This text has {len(prompt.ids) + prompt.left_out} tokens; {text.plain(lab.attention.title)} has "
                   f"weights for {lab.limit} and no rule for more. It is not shown.")
        return None
    fitting = state.with_model(name)
    before, after = compute.traces_of(lab, prompt, fitting.plan)
    with st.container(height=FACTS, border=False):  # one line or two: what follows stays level with its neighbours
        st.caption(facts(lab, before, after, first, bool(fitting.plan)))
    explore.grid_of_heads(lab, fitting, after, key=f"heads {index}")
    explore.one_head(lab, fitting, after, key=f"map {index}")
    effect(key=f"effect {index}", predictions=predictions(lab, before, after), index=state.asked,
           loss_before=mean_loss(before), loss_after=mean_loss(after), tokens=token_losses(lab, before, after),
           changed=bool(fitting.plan), on_event=session.on_effect)
    explore.notes(lab, fitting)
    return after


def facts(lab: Lab, before: Trace, after: Trace, first: Trace | None, changed: bool) -> str:
    """A model's numbers on this text, in one line."""
    trace = after if changed else before
    parts = [lab.attention.title]
    if not math.isnan(trace.loss):
        parts.append(f"loss {trace.loss:.3f} nats")
    if first is not None and first.output is not None and trace.output is not None \
            and first.output.position == trace.output.position:
        parts.append(f"KL from the first model {divergence(first.output, trace.output):.3f} nats")
    return text.plain(" · ".join(parts))
