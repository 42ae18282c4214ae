"""Visit: the server-side state of one browser session, with its constant matrices and pictures for external models.

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
from app.state.lessons import Place
from components import channel
from components.channel import Channel
from models import Lab
from models.contexts import setting

MOST_LABS = 2  # number of models with constant matrices per visitor; 12 x 12 heads at 128 tokens take 9 MiB
MOST_PICTURE = 8 * 2**20  # largest number of bytes of a picture's file
SESSION_KEY = "visit"  # the key of the Visit in Streamlit's session state

# Only Streamlit's sessions have strong references to these objects, so a Visit ends with its Streamlit session.
_visits: WeakValueDictionary[str, Visit] = WeakValueDictionary()
_current: ContextVar[Visit | None] = ContextVar("visit", default=None)


@dataclass(eq=False)
class Visit:
    """The state of one browser session."""

    history: History = field(default_factory=History)  # the present state, undo and redo
    # events and payloads. The channel's id identifies the session, and its lock protects the session.
    channel: Channel = field(default_factory=Channel)
    # step of a lesson -> the visitor's answer, as LabState.answer
    answers: dict[Place, str] = field(default_factory=dict)
    ticked: set[Place] = field(default_factory=set)  # completed steps of lessons
    aside: LabState | None = None  # the state before the lesson, which is restored after it
    # the used requests, bytes and work; see app/server/limits.py
    allowance: limits.Allowance = field(default_factory=limits.Allowance)
    # hash of an address of this session -> the state of this address
    addresses: OrderedDict[str, LabState] = field(default_factory=OrderedDict)
    asked: LabState | None = None  # the state whose generated text the browser asked for, which a first page lacks
    begin_writing: bool = False  # True if the continuation must start when the page is next displayed
    continuation: Any = None  # the generated continuation on the page
    # name -> external model with the constant matrices that this visitor computed
    labs: dict[str, Any] = field(default_factory=dict)
    # model -> content of the picture file that the visitor chose
    pictures: dict[str, bytes] = field(default_factory=dict)
    job: Any = None  # the background job; None without one
    # the event of the page Models that the next run of the script handles
    request: dict[str, Any] = field(default_factory=dict)
    search: Any = None  # the search for minimal heads (app/lab/tools/fewest.Under); None without one
    trainings: Any = None  # the trainings of the page Training (app/training/runs.py); None before the first
    address: str | None = None  # IP address of the browser; None if Streamlit does not report it
    is_embedded: bool = False  # True if the app is in a frame of another page
    # page, language and size of type of the page that Streamlit displays; None before it is displayed
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
    with setting(_current, visit), channel.use(visit.channel):
        yield visit


def opened(name: str, chat: bool = False) -> Lab:
    """Returns a model, with this visitor's constant matrices if there are any; `chat` selects its chat template."""
    lab = with_constants(serving.load(name))
    return lab.in_chat if chat else lab


def with_constants(lab: Lab) -> Lab:
    """Returns the visitor's copy of a model with constant matrices, if there is one."""
    copy = current().labs.get(lab.name)
    # Two model folders can have the same name. The copy shares its task object only with the model it was made from.
    return copy if copy is not None and copy.task is lab.task else lab


def keep_constants(lab: Lab) -> None:
    """Stores a model with new constant matrices. If there are more than MOST_LABS models, removes the oldest."""
    labs = current().labs
    labs.pop(lab.name, None)
    labs[lab.name] = lab
    while len(labs) > MOST_LABS:
        labs.pop(next(iter(labs)))


def picture(model: str) -> bytes | None:
    return current().pictures.get(model)


def set_picture(model: str, data: bytes | None) -> None:
    """Stores the visitor's picture and removes any earlier one."""
    current().pictures = {} if data is None else {model: data}
