"""The visitor of this thread: shortcuts to the present visit, and the keys of Streamlit's widgets."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ParamSpec, TypeGuard
from urllib.parse import parse_qsl

import streamlit as st

from app import texts
from app.server import serving
from app.state import visit
from app.state.history import MAX_HELD, History
from app.state.lab_state import FIRST_PAGE, MAX_TEXT, SHOWN, LabState
from app.state.lessons.lesson_files import Place
from app.state.link import read_query
from models.labs.foreign import is_foreign
from models.messages import told

# Keys of Streamlit's widgets.
TEXT, EXAMPLE, COMPARED, LENGTH, HIDDEN, MEMORY, SECTION, CLAIM, PART = (
    "text", "example", "compared", "length", "hidden", "memory", "section", "claim", "part")
SAMPLING, GREEDY, TEMPERATURE, TOP_P, SEED = "sampling", "greedy", "temperature", "top p", "seed"
WANTED, WHOLE, BOUND, SEARCH = "wanted heads", "whole text", "bound", "search"
ORDER, SCOPE, TERM = "order", "scope", "term"
MEASURE_X, MEASURE_Y, MEASURED, ROLE, SCATTER = "measure across", "measure up", "measured", "role", "picked heads"
CONSTANT_TASK, STUDY = "task", "study"
HUB_ID, FOLDER, SOURCE, PASTED, UPLOADED, PICTURE, QUERY = (
    "hub id", "folder", "texts of constants", "pasted text", "uploaded text", "picture", "query of picture")
LOOKED, JOB_PROBLEM, PICTURE_PROBLEM = "looked", "job problem", "picture problem"
FILES = ("npz", "json", "csv")  # of all numbers
_DRAWN = "library drawn"
MAX_QUERY = 4 * MAX_TEXT  # characters of an address
MAX_ADDRESSES = 300  # that a session remembers as its own


P = ParamSpec("P")


def history() -> History:
    """This visitor's history."""
    return visit.current().history


def exclusive(handler: Callable[P, None]) -> Callable[P, None]:
    """Runs a widget's callback while no other event of the visitor is handled."""
    @functools.wraps(handler)
    def locked(*args: P.args, **named: P.kwargs) -> None:
        with visit.current().channel.lock:
            handler(*args, **named)
    return locked


def speak() -> None:
    """Says everything that follows in this visitor's language: the first line of each fragment, which may run alone."""
    texts.speak(history().present.language)


def widget(key: str, kind: type, default: Any = None) -> Any:
    """A widget's value, or `default` where it has none or, forged, one of another type."""
    value = st.session_state.get(key)
    return value if isinstance(value, kind) and not (kind is int and isinstance(value, bool)) else default


def is_index(value: object, count: int) -> TypeGuard[int]:
    """Whether it is a whole number from 0 to below `count`."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < count


def ask_for(ending: object, number: object) -> None:
    """Asks for a file of all numbers: the next page that is drawn has a button that downloads it.

    Args:
        ending: one of FILES.
        number: of the event, which tells this button from one of an earlier state.
    """
    if isinstance(ending, str) and ending in FILES and isinstance(number, int):
        visit.current().download = ending, number


def is_told(place: Place, answer: str) -> bool:
    """Whether the right answer to a step's question may be seen: it was asked for, or answered and the step done."""
    return answer == SHOWN or bool(answer) and place in visit.current().ticked


def once(draw: Callable[[], None]) -> None:
    """Draws something that the browser keeps until the visitor leaves."""
    if not st.session_state.get(_DRAWN):
        draw()
    st.session_state[_DRAWN] = True


def follow_address(page: str) -> None:
    """Opens the address's state on a visit's first run, after back and forward, and for a link that is new here.

    Every other run trusts the session: while a visitor types fast, the browser's address lags behind, and what
    it sends is an older address of this same session.

    Args:
        page: what the address's path says; where the query names one too, that one is right.
    """
    params = ({} if page == FIRST_PAGE else {"page": page}) | st.query_params.to_dict()
    asked = _canonical(params)
    first = visit.SESSION_KEY not in st.session_state
    known = visit.current().addresses
    if first or serving.went_back_or_forward() or asked not in known:
        problems: list[str] = []
        if asked in known:
            # A state of this session comes back whole: its text may be longer than what its address holds; and in the
            # language that was chosen since.
            state = replace(known[asked], language=history().present.language)
        else:
            state, problems = _read(params)
        if not params and first:  # no link, which would say the language
            chosen = st.context.cookies.get(texts.COOKIE)  # an earlier visit's choice
            state = replace(state, language=texts.preferred(chosen or st.context.locale))
        (history().begin if first else history().open)(state, problems)
        _remember(asked, history().present)


def begin_at(query: str) -> None:
    """Opens the state that the browser's address holds: it was there before this session.

    After a restart or a long gap the browser comes back with the address of the page's load, while the one that it
    shows, and what the visitor did, is newer. Undo begins there.
    """
    if len(query) > MAX_QUERY:
        history().problems = [told("This link has {n:,} characters, and was not opened: {most:,} are the most.",
                                   n=len(query), most=MAX_QUERY)]
        return
    state, problems = _read(dict(parse_qsl(query, keep_blank_values=True)))
    history().begin(state, problems)


def _read(params: dict[str, str]) -> tuple[LabState, list[str]]:
    """read_query; a link to a foreign model that is not in memory leads to where it can be opened."""
    state, problems = read_query(params)
    wanted = params.get("model", "")
    if is_foreign(wanted) and state.model != wanted:
        state = replace(state, page="yours")
        history().wanted = params
    return state, problems


def remember_address(query: str, state: LabState) -> None:
    """Notes a state's address, its query string, as one of this visit's own."""
    _remember(_canonical(dict(parse_qsl(query, keep_blank_values=True))), state)


def _remember(address: str, state: LabState) -> None:
    known = visit.current().addresses
    known[address] = state
    known.move_to_end(address)
    while len(known) > MAX_ADDRESSES or sum(len(state.text) for state in known.values()) > MAX_HELD:
        known.popitem(last=False)


def _canonical(params: dict[str, str]) -> str:
    text = repr(sorted(params.items()))
    return hashlib.sha256(text.encode("utf-8", errors="replace")).hexdigest()[:16]


def fill_widgets() -> None:
    """Shows the present state in Streamlit's own widgets; call before they are made."""
    st.session_state[TEXT] = history().present.text
    st.session_state[EXAMPLE] = None
    st.session_state[COMPARED] = list(history().present.compared)
