"""The choice of models that stand beside the first one."""

from __future__ import annotations

import streamlit as st

from app.state import events, session
from app.state.lab_state import MAX_COMPARED
from app.texts import _
from models import catalogue


def choose(first: str) -> None:
    """The models beside the first one."""
    st.multiselect(_("Beside it"), [name for name in catalogue.family(first) if name != first], key=session.COMPARED,
                   max_selections=MAX_COMPARED, on_change=events.on_compared, label_visibility="collapsed",
                   placeholder=_("Choose up to three models to stand beside {first}", first=first))
