"""The page's first line: name, pages, model, and what acts on the whole state."""

from __future__ import annotations

from urllib.parse import parse_qsl

import streamlit as st

import models
from app import session
from app.state import MAX_LINK_TEXT, History
from components import toolbar

PAGES = ("Explore", "Compare", "Length", "Results", "About")  # each is a file in views/


def draw(history: History, read_chars: int = MAX_LINK_TEXT) -> None:
    """Call it inside the page's fragment: the links carry the state as it is now.

    Args:
        read_chars: how much of a long text the model reads, which is what its link holds.
    """
    query = history.present.query(read_chars)
    params = dict(parse_qsl(query, keep_blank_values=True))
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="header"):
        st.markdown("# Attention Lab", width="content")
        for name in PAGES:
            st.page_link(f"views/{name.lower()}.py", label=name, query_params=params)
        # A model whose folder is missing can still be asked for by a link: the page then tells of it.
        st.selectbox("Model", list(dict.fromkeys([*models.names(), history.present.model])), key=session.MODEL,
                     on_change=session.on_model, width=240, label_visibility="collapsed")
        with st.container(width="stretch"):
            toolbar(key="toolbar", query=query, mode="push" if history.push else "replace",
                    can_undo=bool(history.past), can_redo=bool(history.future), on_event=session.on_toolbar)
    history.push = False
    session.remember_address(query)
