"""The page's first line: name, pages, model, and what acts on the whole state."""

from __future__ import annotations

from urllib.parse import parse_qsl

import streamlit as st

import models
from app import session
from app.state import History
from components import toolbar


def draw(history: History) -> None:
    """Call it inside the page's fragment: the links carry the state as it is now."""
    query = dict(parse_qsl(history.present.query(), keep_blank_values=True))
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="header"):
        st.markdown("# Attention Lab", width="content")
        st.page_link("views/explore.py", label="Explore", query_params=query)
        st.page_link("views/about.py", label="About", query_params=query)
        st.selectbox("Model", models.names(), key=session.MODEL, on_change=session.on_model, width=240,
                     label_visibility="collapsed")
        with st.container(width="stretch"):
            toolbar(key="toolbar", query=history.present.query(), mode="push" if history.push else "replace",
                    can_undo=bool(history.past), can_redo=bool(history.future), on_event=session.on_toolbar)
    history.push = False
    session.remember_address()
