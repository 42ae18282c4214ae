"""The choice of compared models."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app.markdown import literal, plain
from app.panels.choice import choosing
from app.panels.choice.labels import model_label
from app.state import session
from app.state.handlers import events
from app.state.lab_state import MAX_COMPARED
from app.state.pages.companions import informative_models
from app.texts import _
from models import catalogue

OFFERED = 3


def choose(first: str) -> None:
    """Displays the choice of up to three compared models; a fourth choice replaces the first one.

    The models are in a popover, so that the results are on the first screen; in a lesson they are in one line.

    Args:
        first: name of the page's model. The models of its family are offered.
    """
    others = [name for name in catalogue.family(first) if name != first]
    if not others:
        st.info(_("No other model reads the same texts as {model}.", model=literal(model_label(first))))
        return
    state = session.history().present
    compared = state.compared
    label = _("Compare {model} with up to {most} models:", model=literal(model_label(first)), most=MAX_COMPARED) \
        if len(compared) < MAX_COMPARED else \
        _("Compare {model} with these models; one more takes the place of {other}:", model=literal(model_label(first)),
          other=literal(model_label(compared[0])))
    if state.lesson or state.teach:  # in one line, because the screen of a lesson has no room for groups
        _group(0, label, others, compared)
        return
    with st.container(horizontal=True, vertical_alignment="center", key="companions"):  # one element, as in a lesson
        st.caption(label, width="content")
        # before the chosen models, so that it stays in its place when a model is chosen
        with (st.popover(_("Choose models"), icon=":material/add:", key="choose companions"),
              st.container(key=session.COMPARED)):
            for index, (source, names) in enumerate(by_source(others).items()):
                _group(index, source, names, compared)
        if compared:
            _chosen(compared)


def _group(index: int, label: str, names: list[str], compared: Sequence[str]) -> None:
    key = f"{session.COMPARED}-{index}"
    st.session_state[key] = [name for name in names if name in compared]
    st.pills(label, names, selection_mode="multi", key=key, on_change=events.on_compared, args=(key, names),
             format_func=lambda name: literal(model_label(name)))


def _chosen(compared: Sequence[str]) -> None:
    """Displays the compared models as chips; a click on a chip removes its model."""
    key, names = f"{session.COMPARED}-chosen", list(compared)
    st.session_state[key] = names
    st.pills(_("Compared models; a click removes a model"), names, selection_mode="multi", key=key,
             label_visibility="collapsed", on_change=events.on_compared, args=(key, names),
             format_func=lambda name: f"{literal(model_label(name))} ✕")


def by_source(names: Sequence[str]) -> dict[str, list[str]]:
    """Groups models of one task by the source of their attention type, as in the dialog that chooses a model.

    Args:
        names: names of models of one task.

    Returns:
        Source, like `Tay et al. 2020` -> names of its models; both in the order of the dialog.
    """
    return {group["source"]: [model["name"] for model in group["models"]]
            for task in choosing.groups(choosing.entries(names)) for group in task["groups"]}


def offer(first: str) -> None:
    """Displays suggested models for a comparison, each with one sentence.

    Args:
        first: name of the page's model.
    """
    family = choosing.entries(catalogue.family(first))
    offered = informative_models(first, family)[:OFFERED]
    if not offered:
        return
    steps = next(entry.steps for entry in family if entry.name == first)
    st.markdown("##### " + _("Compared models"))
    st.markdown(_("The same text and the same changes, with another attention type. Each model was trained once, so "
                  "some of the differences are random. Choose one model here, or up to three with *Choose models*."))
    for entry in offered:
        button, line = st.columns([1, 2], vertical_alignment="center")
        button.button(_("Add {model}", model=model_label(entry.name)), key=f"beside {entry.name}",
                      on_click=events.compare_with, args=(entry.name,), width="stretch")
        line.markdown(plain(choosing.line_of(entry, family, steps)))
