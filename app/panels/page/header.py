"""The header of the pages: the places, undo, redo, share, language and theme."""

import streamlit as st

from app import texts
from app.state import events, session, visit
from app.state.fields import MAX_LINK_TEXT
from app.state.lab_state import PAGES, START, TEACHERS, LabState
from app.state.link import lab_of, query_of
from app.state.visit import Visit
from app.texts import _
from components.mounting import Part, mount

LESSON = "lesson"  # in place of the page's key in a lesson, so that each place is a way out of it


def draw(read_chars: int = MAX_LINK_TEXT) -> None:
    """Displays the header; `read_chars` as in `part`."""
    now = visit.current()
    now.is_embedded = bool(st.context.is_embedded)
    mount(part(now, now.history.present, read_chars))


def part(now: Visit, state: LabState, read_chars: int = MAX_LINK_TEXT) -> Part:
    """Returns the header, and stores the state's address as an address of this session.

    The links contain the first `read_chars` characters of a long text, which are those that the model reads.
    """
    query, past, linked = query_of(state, read_chars), now.history, lab_of(state)
    result = Part("bar", "bar", {
        "places": [(page, _(title)) for page, title in PAGES.items() if page not in (START, TEACHERS)],
        "present": LESSON if state.lesson else state.page,  # its link does nothing
        "section": "lessons" if state.lesson or state.page == TEACHERS else state.page,  # the place that is marked
        "links": query if linked == state else query_of(linked, read_chars),  # is part of each link
        "query": query,  # of the browser's address; `push` adds an entry to its history, `replace` replaces the entry
        "mode": "push" if past.push else "replace", "undo": bool(past.past), "redo": bool(past.future),
        "languages": [*texts.LANGUAGES.items()],  # addresses omit the first language
        "embedded": now.is_embedded,  # if the page is in a frame, only a link to the full app is shown
        "large": state.teach, "ticked": sorted(map(str, now.ticked))}, on_event=events.on_toolbar)
    past.push = False
    session.remember_address(query, state)
    return result
