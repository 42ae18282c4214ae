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
from app.texts import _
from models import catalogue
from models.info import ModelInfo

# labels of the models whose comparison is most instructive, best first
TELLING = ("softmax", "softmax, one pass", "selective", "random", "dense", "GAU relu²/n", "log n")
OFFERED = 3


def choose(first: str) -> None:
    """Displays the choice of up to three compared models; a fourth choice replaces the first one.

    Args:
        first: name of the page's model. The models of its family are offered.
    """
    others = [name for name in catalogue.family(first) if name != first]
    if not others:
        st.info(_("No other model reads the same texts as {model}.", model=literal(first)))
        return
    compared = session.history().present.compared
    label = _("Compare {model} with up to {most} models:", model=literal(model_label(first)), most=MAX_COMPARED) \
        if len(compared) < MAX_COMPARED else \
        _("Compare {model} with these models; one more takes the place of {other}:", model=literal(model_label(first)),
          other=literal(model_label(compared[0])))
    st.pills(label, others, selection_mode="multi", key=session.COMPARED,
             format_func=lambda name: literal(model_label(name)), on_change=events.on_compared)


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
                  "some of the differences are random. Choose one model here, or up to three above."))
    for entry in offered:
        button, line = st.columns([1, 2], vertical_alignment="center")
        button.button(_("Add {model}", model=model_label(entry.name)), key=f"beside {entry.name}",
                      on_click=events.compare_with, args=(entry.name,), width="stretch")
        line.markdown(plain(choosing.line_of(entry, family, steps)))


def informative_models(first: str, family: Sequence[ModelInfo]) -> list[ModelInfo]:
    """Returns the models whose comparison with a model is most informative.

    Models with the same number of training steps come first. Models with another number of steps are included only if
    they have another attention type.

    Args:
        first: name of the page's model.
        family: catalogue entries of the family of this model.

    Returns:
        Entries in order of preference.
    """
    own = next((entry for entry in family if entry.name == first), None)
    if own is None:
        return []
    by_label = {str(entry.label): entry for entry in family if entry is not own
                 and (entry.steps == own.steps or entry.kinds[0].attention != own.kinds[0].attention)}
    return sorted((by_label[label] for label in TELLING if label in by_label),
                  key=lambda entry: entry.steps != own.steps)
