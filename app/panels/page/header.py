"""The page's first line: name, pages, model, and what acts on the whole state."""

from __future__ import annotations

import streamlit as st

from app import texts
from app.panels.choice import choosing
from app.state import session
from app.state.fields import MAX_LINK_TEXT
from app.state.handlers import events
from app.state.history import History
from app.state.lab_state import PAGES, START
from app.state.link import lab_of, query_of
from app.texts import _
from components import navigation, toolbar

WITHOUT_MODEL = (START, "lessons", "results", "about")  # pages that show no one model, or one of their own


def draw(history: History, read_chars: int = MAX_LINK_TEXT) -> None:
    """Call it inside the fragment: the links carry the state as it is now.

    Args:
        read_chars: how much of a long text the model reads, which is what its link holds.
    """
    query = query_of(history.present, read_chars)
    embedded = bool(st.context.is_embedded)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="header"):
        if not embedded:
            _navigate(history, query_of(lab_of(history.present), read_chars))
        with st.container(width="stretch"):
            toolbar(key="toolbar", query=query, mode="push" if history.push else "replace",
                    can_undo=bool(history.past), can_redo=bool(history.future), languages=texts.LANGUAGES,
                    embedded=embedded, on_event=events.on_toolbar)
    history.push = False
    session.remember_address(query)


def _navigate(history: History, query: str) -> None:
    """What a page that stands in another one does not show."""
    st.markdown("# Attention Lab", width="content")
    navigation(key="navigation", pages={page: _(title) for page, title in PAGES.items() if page != START},
               present=history.present.page, query=query, on_event=events.on_toolbar)
    if history.present.page not in WITHOUT_MODEL:
        with st.container(width=260, key="model"):
            choosing.draw(history.present.model)
