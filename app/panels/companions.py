"""The choice of models that stand beside the first one."""

from __future__ import annotations

import streamlit as st

from app.markdown import literal, plain
from app.panels import choosing
from app.state import events, session
from app.state.lab_state import MAX_COMPARED
from app.texts import _
from components.charts import called
from models import catalogue

TELLING = ("softmax", "selective", "random", "dense", "gau-relu2", "log-n")  # kinds that differ much
OFFERED = 3


def choose(first: str) -> None:
    """The models beside the first one, all of its family in sight; a fourth takes the place of the first chosen."""
    others = [name for name in catalogue.family(first) if name != first]
    if not others:
        st.info(_("No other model reads the same texts as {model}.", model=literal(first)))
        return
    st.pills(_("Beside {model}, up to {most}", model=literal(called(first)), most=MAX_COMPARED), others,
             selection_mode="multi", key=session.COMPARED, format_func=lambda name: literal(called(name)),
             on_change=events.on_compared)


def offer(first: str) -> None:
    """Where nothing stands beside the first model yet: what could, with a line on each."""
    family = choosing.entries(catalogue.family(first))
    by_name = {entry.name: entry for entry in family if entry.name != first}
    found = [name for ending in TELLING for name in by_name if name.partition("-")[2] == ending][:OFFERED]
    if not found:
        return
    st.markdown("##### " + _("Beside it"))
    st.markdown(_("The same text and the same changes, in another kind of attention: what differs is what the kind "
                  "does. Choose one here, or up to three above."))
    for name in found:
        button, line = st.columns([1, 3], vertical_alignment="center")
        button.button(_("Add {model}", model=called(name)), key=f"beside {name}",
                      on_click=events.compare_with, args=(name,), width="stretch")
        line.markdown(plain(choosing.line_of(by_name[name], family)))
