"""Visit: the server-side state of one browser session.

It is separate from the state of Streamlit's session, so that the events route (app/route.py) can use it.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

import streamlit as st

from app.server import limits, serving
from app.state.history import History
from app.state.lab_state import LabState
from app.state.lessons.lesson_files import Place
from components import channel
from components.channel import Channel

SESSION_KEY = "visit"  # the key of the Visit in Streamlit's session state

# Only Streamlit's sessions have strong references to these objects, so a Visit ends with its Streamlit session.
_visits: WeakValueDictionary[str, Visit] = WeakValueDictionary()
_current: ContextVar[Visit | None] = ContextVar("visit", default=None)


@dataclass(eq=False)
class Visit:
    """The state of one browser session.

    Attributes:
        history: the present state, undo and redo.
        channel: events and payloads. The channel's id identifies the session, and its lock protects the session.
        answers: step of a lesson -> the visitor's answer, as LabState.answer.
        ticked: completed steps of lessons.
        aside: the state before the lesson, which is restored after it.
        allowance: the used requests, bytes and work; see app/server/limits.py.
        addresses: hash of an address of this session -> the state of this address.
        asked: the state whose generated text the browser asked for, which a first page lacks.
        begin_writing: True if the continuation must start when the page is next displayed.
        continuation: the generated continuation on the page.
        labs: name -> external model with the constant matrices that this visitor computed.
        pictures: model -> content of the picture file that the visitor chose.
        job: the background job; None without one.
        request: the event of the page Models that the next run of the script handles.
        search: the search for minimal heads (app/panels/prompt/minimal_heads.Under); None without one.
        trainings: the trainings of the page Training (app/training/runs.py); None before the first.
        address: IP address of the browser; None if Streamlit does not report it.
        is_embedded: True if the app is in a frame of another page.
        layout: page, language and size of type of the page that Streamlit displays; None before it is displayed.
    """

    history: History = field(default_factory=History)
    channel: Channel = field(default_factory=Channel)
    answers: dict[Place, str] = field(default_factory=dict)
    ticked: set[Place] = field(default_factory=set)
    aside: LabState | None = None
    allowance: limits.Allowance = field(default_factory=limits.Allowance)
    addresses: OrderedDict[str, LabState] = field(default_factory=OrderedDict)
    asked: LabState | None = None
    begin_writing: bool = False
    continuation: Any = None
    labs: dict[str, Any] = field(default_factory=dict)
    pictures: dict[str, bytes] = field(default_factory=dict)
    job: Any = None
    request: dict[str, Any] = field(default_factory=dict)
    search: Any = None
    trainings: Any = None
    address: str | None = None
    is_embedded: bool = False
    layout: Hashable = None

    def __post_init__(self) -> None:
        _visits[self.channel.id] = self


def find(visit_id: str) -> Visit | None:
    """Returns a session of this process; None if it has ended or is in another process."""
    return _visits.get(visit_id)


def current() -> Visit:
    """Returns the session of this thread: set by `use` on the events route, else taken from Streamlit's session."""
    visit = _current.get()
    if visit is not None:
        return visit
    if SESSION_KEY not in st.session_state:
        st.session_state[SESSION_KEY] = Visit(channel=channel.current(),
                                              allowance=limits.of_session(serving.session_id()))
    return st.session_state[SESSION_KEY]


limits.charge(lambda: current())


@contextlib.contextmanager
def use(visit: Visit) -> Iterator[Visit]:
    """Makes a session the current one while the context is open, for a thread without a Streamlit session."""
    token = _current.set(visit)
    try:
        with channel.use(visit.channel):
            yield visit
    finally:
        _current.reset(token)
