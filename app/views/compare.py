"""The Compare page: up to four models of a family on one text, with one selection and one plan for all.

The results are at the top, beside the heads that the plan changes. Below the heads, one chosen part of the results is
shown, at the same height for all models.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Sequence
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.markdown import literal
from app.panels.answer.comparison import (
    Compared,
    entropies,
    prediction_title,
    read_all,
    readable,
    row,
    takeaway,
    trained_unequally,
    where,
)
from app.panels.choice import card, companions
from app.panels.choice.labels import model_label
from app.panels.page import frame
from app.panels.page.text import Reading
from app.panels.prompt import effect, heads
from app.panels.writing import translation
from app.server import serving
from app.state import session
from app.state.handlers import events
from app.state.lab_state import PARTS, LabState
from app.texts import _, tip
from components.comparison import comparison
from components.figure import figure, spec_of
from components.mounting import Part, mount
from figures.curves.lengths import entropy_of_queries
from figures.lines import Series
from models import Lab
from models.storage.checkpoint import CheckpointError
from studies.series import style


def page() -> None:
    frame.under_header(_draw, direct=DIRECT)


def depends(first: Lab, reading: Reading, state: LabState) -> Hashable:
    """Returns a key that changes with the arrangement of the page; see frame.Direct.depends."""
    compared = readable(read_all(reading, state))
    return (tuple(one.lab.identity for one in compared), state.part, state.hides_answer,
            [translation.is_offered(one.before) for one in compared])


def later(first: Lab, reading: Reading, state: LabState) -> Hashable:
    """Returns a key that changes with the content of the chart of entropies; see frame.Direct.later."""
    return state.part == "entropy" and (state, reading.shown)


def parts(first: Lab, reading: Reading, state: LabState) -> list[Part]:
    """Returns the page's components, except `late_parts`."""
    models = read_all(reading, state)
    compared = readable(models)
    components = [comparison.part(key="comparison", rows=[row(name, one, compared) for name, one in models.items()],
                                  heading=prediction_title(compared), takeaway=takeaway(compared, state),
                                  changed=bool(state.plan))]
    for index, one in enumerate(compared):
        components.append(heads.grid_part(one.lab, one.state, one.after, key=f"heads {index}", bare=index > 0,
                                          led=False))
        serving.give_way()
        if state.part == "map":
            components.append(heads.large_part(one.lab, one.state, one.before, one.after, key=f"map {index}"))
        elif state.part == "prediction" and not state.hides_answer:
            components.append(effect.part(one.lab, one.state, one.before, one.after, key=f"effect {index}"))
    return components


def late_parts(first: Lab, reading: Reading, state: LabState) -> list[Callable[[], Part]]:
    """Returns functions that create the components which take longer than the attention maps: the translations."""
    if state.part != "prediction":
        return []
    return [partial(translation.part, one.lab, one.state, one.before, one.after, key=f"written {index}")
            for index, one in enumerate(readable(read_all(reading, state))) if translation.is_offered(one.before)]


# the fields of a link to an example: random tables predict another value than softmax attention
EXAMPLE = {"page": "compare", "model": "assignment-softmax", "text": "x=1; x=7; y=3; x=?", "with": "assignment-random",
           "part": "prediction"}
DIRECT = frame.Direct(depends, parts, late_parts, later=later)


def _draw(first: Lab, reading: Reading, state: LabState) -> None:
    if not state.lesson and not state.teach:
        with st.container(horizontal=True, vertical_alignment="center", key="lead"):  # it stays, so that no chip moves
            st.caption(_("This page shows up to four models with the same text and the same changes to their heads."))
            st.button(_("Example: only one of two models finds the value of x"), key="example-compare",
                      on_click=events.open_link, args=(EXAMPLE,))
    companions.choose(first.name)
    components = {part.key: part for part in parts(first, reading, state)}
    compared = readable(read_all(reading, state))
    mount(components["comparison"])
    if not compared:
        return
    if unequal := trained_unequally(compared):
        st.caption(unequal)
    if not state.teach or state.lesson:
        st.caption(_("Each tile is one head. Rows are queries, columns are keys; a stronger colour is more attention."))
    columns = _beside(compared, "heads" if state.compared else "offers")
    for index, (one, column) in enumerate(zip(compared, columns, strict=False)):
        with column:
            _name(one)
            mount(components[f"heads {index}"])
    if not state.compared:
        with columns[1]:
            companions.offer(first.name)
    st.session_state[session.PART] = state.part
    part = st.segmented_control(_("Chart"), list(PARTS), format_func=lambda key: _(PARTS[key]), key=session.PART,
                                required=True, on_change=events.on_part, label_visibility="collapsed")
    if part == "entropy":
        _entropies(compared)
        return
    columns = _beside(compared, "part")
    for index, (one, column) in enumerate(zip(compared, columns, strict=False)):
        with column:
            _name(one)
            if part == "map":
                mount(components[f"map {index}"])
            else:
                effect.draw(one.lab, one.state, one.before, one.after, key=f"effect {index}")
    for make in late_parts(first, reading, state):
        late = make()
        with columns[int(late.key.split()[-1])]:
            mount(late)


def _beside(compared: Sequence[Compared], what: str) -> list[DeltaGenerator]:
    """Returns one column per model, but at least two, so that the first column keeps its width when a model is added.

    On a narrow screen style.css sets two columns in a row. It also aligns the elements of `_name`, and what follows it.
    """
    with st.container(key=f"beside-{what}"):
        return st.columns(max(2, len(compared)), gap="small")


def _name(one: Compared) -> None:
    with st.container():  # one element, with or without a score
        # a heading, because everything up to the next heading is about this model
        st.markdown(f"##### {literal(model_label(one.lab.name))}")
        with contextlib.suppress(ValueError, CheckpointError):  # an external model has no card
            st.caption(_("Held-out text: {score}", score=literal(_(card.headline(card.card_of(one.lab.name))))))


def _entropies(compared: Sequence[Compared]) -> None:
    rows = {one.lab.name: entropies(one) for one in compared}
    last = "; ".join(f"{model_label(name)} {values[-1]:.2f}" for name, values in rows.items())
    st.markdown(_("**Entropy of each row** of the selected head after your changes: {heads}.",
                  heads=literal("; ".join(where(one) for one in compared))), help=tip("entropy"))
    causal = heads.selected(compared[0].lab, compared[0].state)[0].causal
    series = [Series.of_style(model_label(name), style(name)) for name in rows]
    spec = entropy_of_queries.spec(series, [*rows.values()], causal)
    figure(key="entropies", spec=spec_of(spec), models=list(rows), what="entropy",
           title=_("Entropy of each row, nats"), about=[where(one) for one in compared],
           alt=_("Entropy of each query's row in nats, one line per model; last query: {values}", values=last))
