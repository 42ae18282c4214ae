"""Visit: everything that one visitor has set and done, apart from Streamlit's session, which refers to it."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

import streamlit as st

from app.state.history import History
from app.state.lab_state import LabState
from app.state.lessons.lesson_files import Place
from components import channel
from components.channel import Channel

SESSION_KEY = "visit"  # in Streamlit's session

# Streamlit's sessions keep their visits alive, so the number and the age of visits are those of sessions.
_visits: WeakValueDictionary[str, Visit] = WeakValueDictionary()
_current: ContextVar[Visit | None] = ContextVar("visit", default=None)


@dataclass(eq=False)
class Visit:
    """One visitor's state.

    Attributes:
        history: the present state, undo and redo.
        channel: events and payloads; its id names the visit, its lock guards the visit.
        answers: step of a lesson -> the visitor's answer, as LabState.answer.
        ticked: the steps of lessons that were done.
        aside: the state before a lesson, which comes back after it.
        allowances: name of an allowance -> what is left of it, and since when (app/server/limits.py).
        addresses: fingerprint of an address of this visit -> the state that it stands for.
        download: the file that was asked for last, and the number of the event that asked.
        begin_writing: True if the text is to be continued as soon as the page is drawn.
        continuation: the continuation on the page.
        picked: model, and the indices of its heads that are picked in a scatter.
        labs: foreign models with constant matrices of this visitor, by name.
        pictures: model -> the chosen picture's file.
        job: the work under way.
        address: IP address of the browser; None where Streamlit does not tell it.
        is_embedded: True if the page stands in another one.
        layout: what the Streamlit elements on the page depend on; None before the page is drawn.
    """

    history: History = field(default_factory=History)
    channel: Channel = field(default_factory=Channel)
    answers: dict[Place, str] = field(default_factory=dict)
    ticked: set[Place] = field(default_factory=set)
    aside: LabState | None = None
    allowances: dict[str, tuple[float, float]] = field(default_factory=dict)
    addresses: OrderedDict[str, LabState] = field(default_factory=OrderedDict)
    download: tuple[str, int] | None = None
    begin_writing: bool = False
    continuation: Any = None
    picked: tuple[str, list[int]] | None = None
    labs: dict[str, Any] = field(default_factory=dict)
    pictures: dict[str, bytes] = field(default_factory=dict)
    job: Any = None
    address: str | None = None
    is_embedded: bool = False
    layout: Hashable = None

    def __post_init__(self) -> None:
        _visits[self.channel.id] = self


def find(visit_id: str) -> Visit | None:
    """The visit with this id; None if it has ended or is of another process."""
    return _visits.get(visit_id)


def current() -> Visit:
    """The visit of this thread: of the events route inside `use`, else of Streamlit's session."""
    visit = _current.get()
    if visit is not None:
        return visit
    if SESSION_KEY not in st.session_state:
        st.session_state[SESSION_KEY] = Visit(channel=channel.current())
    return st.session_state[SESSION_KEY]


@contextlib.contextmanager
def use(visit: Visit) -> Iterator[Visit]:
    """Makes this the current visit of a thread that has no Streamlit session."""
    token = _current.set(visit)
    try:
        with channel.use(visit.channel):
            yield visit
    finally:
        _current.reset(token)
