"""The header of the pages: name, navigation, choice of the model, undo, redo, reset and language."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from app import texts
from app.panels.choice import choosing
from app.state import session, visit
from app.state.fields import MAX_LINK_TEXT
from app.state.handlers import events
from app.state.lab_state import FIRST_PAGE, LAB, PAGES, START, TEACHERS, TRAINING, LabState
from app.state.link import lab_of, query_of
from app.state.visit import Visit
from app.texts import N_, _
from components.bar import bar
from components.mounting import Part, mount
from components.navigation import navigation
from components.toolbar import toolbar

PLACES = {LAB: N_("Lab"), TRAINING: N_("Training"), "lessons": N_("Lessons"), "results": N_("Findings"),
          "yours": N_("Models"), "about": N_("Guide")}
NEW = (START, TEACHERS, *PLACES)  # pages with the header in the look of the Lab
LESSON = "lesson"  # in place of the page's key in a lesson, so that each place is a way out of it


def draw(read_chars: int = MAX_LINK_TEXT, has_model: bool = True) -> None:
    """Displays the header. Call this inside the fragment, because the links in the header contain the present state.

    Args:
        read_chars: number of characters of a long text that the model reads; the links contain only these characters.
        has_model: as in `parts`.
    """
    now = visit.current()
    now.is_embedded = bool(st.context.is_embedded)
    components = {part.key: part for part in parts(now, now.history.present, read_chars, has_model)}
    if "bar" in components:
        mount(components["bar"])
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="header"):
        if not now.is_embedded:
            st.markdown("# Attention Lab", width="content")
            mount(components["navigation"])
        if "chooser" in components:
            with st.container(width=260, key="model"):
                mount(components["chooser"])
        with st.container(width="stretch"):
            mount(components["toolbar"])


def parts(now: Visit, state: LabState, read_chars: int = MAX_LINK_TEXT, has_model: bool = True) -> list[Part]:
    """Returns the components of the header, and stores the state's address as an address of this session.

    Args:
        now: the visitor's session.
        state: the visitor's state.
        read_chars: as in `draw`.
        has_model: False for a page that shows another model than the chosen one; its header has no choice of the model.
    """
    if state.page in NEW:
        return [_bar(now, state, read_chars)]
    query, past = query_of(state, read_chars), now.history
    result = [toolbar.part(key="toolbar", query=query, mode="push" if past.push else "replace",
                           can_undo=bool(past.past), can_redo=bool(past.future), languages=texts.LANGUAGES,
                           embedded=now.is_embedded, large=state.teach, ticked=sorted(map(str, now.ticked)),
                           on_event=events.on_toolbar)]
    past.push = False
    session.remember_address(query, state)
    if now.is_embedded:
        return result
    links = replace(lab_of(state), page=FIRST_PAGE)  # the browser adds the page of each link
    pages = {page: _(title) for page, title in PAGES.items() if page not in (START, TEACHERS, LAB, TRAINING)}
    result.append(navigation.part(key="navigation", pages=pages, present=state.page,
                                  section="",
                                  query=query_of(links, read_chars), on_event=events.on_toolbar))
    if has_model:
        result.append(choosing.part(state.model))
    return result


def _bar(now: Visit, state: LabState, read_chars: int) -> Part:
    """Returns the header in the look of the Lab, and stores the state's address as an address of this session."""
    query, past = query_of(state, read_chars), now.history
    result = bar.part(key="bar", places={page: _(title) for page, title in PLACES.items()},
                      present=LESSON if state.lesson else state.page,
                      section="lessons" if state.lesson or state.page == TEACHERS else state.page,
                      links=query_of(lab_of(state), read_chars), query=query,
                      mode="push" if past.push else "replace", can_undo=bool(past.past), can_redo=bool(past.future),
                      languages=texts.LANGUAGES, embedded=now.is_embedded, large=state.teach,
                      ticked=sorted(map(str, now.ticked)), on_event=events.on_toolbar)
    past.push = False
    session.remember_address(query, state)
    return result
