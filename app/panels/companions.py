"""The choice of models that stand beside the first one."""

from __future__ import annotations

import streamlit as st

from app.markdown import literal
from app.state import events, session
from app.state.lab_state import MAX_COMPARED
from app.texts import _
from components.charts import called
from models import catalogue


def choose(first: str) -> None:
    """The models beside the first one, all of its family in sight; a fourth takes the place of the first chosen."""
    others = [name for name in catalogue.family(first) if name != first]
    if not others:
        st.info(_("No other model reads the same texts as {model}.", model=literal(first)))
        return
    st.pills(_("Beside {model}, up to {most}", model=literal(called(first)), most=MAX_COMPARED), others,
             selection_mode="multi", key=session.COMPARED, format_func=lambda name: literal(called(name)),
             on_change=events.on_compared)
