"""Functions for the current session: its history, the keys of Streamlit's widgets, and the browser's address."""

import functools
import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import ParamSpec
from urllib.parse import parse_qsl

import streamlit as st

from app import texts
from app.server import serving
from app.state import visit
from app.state.history import History, fits
from app.state.lab_state import FIRST_PAGE, MAX_TEXT, SHOWN, LabState
from app.state.lessons import Place
from app.state.link import read_query
from app.state.selection import is_index as is_index
from models.labs.foreign import is_foreign
from models.messages import message

# Keys of Streamlit's widgets.
SOURCE, PASTED, UPLOADED = "texts of constants", "pasted text", "uploaded text"
LOOKED, JOB_PROBLEM = "looked", "job problem"
_WHOLE = "whole library"
LAST = "attention-lab-last"  # name of the cookie with the query of the last state (components/runtime/visitor.js)
MAX_QUERY = 4 * MAX_TEXT  # largest number of characters of an address
MAX_ADDRESSES = 300  # largest number of addresses that a session stores, each with its state


P = ParamSpec("P")


def history() -> History:
    return visit.current().history


def exclusive(handler: Callable[P, None]) -> Callable[P, None]:
    """Wraps a widget's callback so that it holds the session's lock; no other event of the session runs meanwhile."""
    @functools.wraps(handler)
    def locked(*args: P.args, **named: P.kwargs) -> None:
        with visit.current().channel.lock:
            handler(*args, **named)
    return locked


def speak() -> None:
    """Sets the visitor's language for this thread. Every fragment calls this first: a fragment can run alone."""
    texts.speak(history().present.language)


def may_show_answer(place: Place, answer: str) -> bool:
    """Returns True if the visitor requested the right answer, or has answered and completed the step."""
    return answer == SHOWN or bool(answer) and place in visit.current().ticked


def send_whole_library() -> None:
    """Makes the next run send the whole component library, because the browser could not import it from its address."""
    st.session_state[_WHOLE] = True


def wants_whole_library() -> bool:
    return bool(st.session_state.get(_WHOLE))


def follow_address(page: str) -> None:
    """Opens the state in the browser's address in the first run, after back or forward, and for an unknown address.

    In all other runs the session's state is newer than the address: while a visitor types fast, the browser still sends
    older addresses of the same session.
    """
    params = ({} if page == FIRST_PAGE else {"page": page}) | st.query_params.to_dict()
    address = _canonical(params)
    first = visit.SESSION_KEY not in st.session_state
    here = visit.current()
    with here.channel.lock:
        if not first and not serving.went_back_or_forward() and address in here.addresses:
            return
        problems: list[str] = []
        if address in here.addresses:
            # Restore the stored state, because its text may be longer than the text in the address. Keep the current
            # language.
            state = replace(here.addresses[address], language=here.history.present.language)
        else:
            state, problems = _read(params)
        if not params and first:  # a link would set the state and the language
            state, problems = _read(fields_of(st.context.cookies.get(LAST, "")[:MAX_QUERY]))
            chosen = st.context.cookies.get(texts.COOKIE)  # the language that the browser stored in an earlier session
            state = replace(state, language=texts.preferred(chosen or st.context.locale))
        (here.history.begin if first else here.history.open)(state, problems)
        _remember(address, here.history.present)


def begin_at(query: str) -> None:
    """Opens the state in the browser's current address as the first state of this session.

    After a restart of the server or a long pause, Streamlit reports the address at the time when the page was loaded,
    but the browser shows a newer address. Undo does not go back beyond this state.
    """
    if is_short(query):
        history().begin(*_read(fields_of(query)))


def is_short(query: str) -> bool:
    """Returns True for an address that may be read; otherwise the page shows the reason."""
    count = len(query.removeprefix("?"))
    if count > MAX_QUERY:
        history().problems = [message("The link has {n:,} characters, more than {most:,}. Copy it again.",
                                      n=count, most=MAX_QUERY)]
    return count <= MAX_QUERY


def fields_of(query: str) -> dict[str, str]:
    return dict(parse_qsl(query.removeprefix("?"), keep_blank_values=True))


def _read(params: dict[str, str]) -> tuple[LabState, list[str]]:
    """Returns the result of read_query, with the place Models if an external model is not in memory."""
    state, problems = read_query(params)
    wanted = params.get("model", "")
    if is_foreign(wanted) and state.model != wanted:
        state = replace(state, page="yours")
        history().wanted = params
    return state, problems


def remember_address(query: str, state: LabState) -> None:
    """Stores a state under its address, so that `follow_address` recognizes the address as one of this session."""
    _remember(_canonical(fields_of(query)), state)


def _remember(address: str, state: LabState) -> None:
    here = visit.current()
    with here.channel.lock:  # the events route and a script run can both store an address
        here.addresses[address] = state
        here.addresses.move_to_end(address)
        while len(here.addresses) > MAX_ADDRESSES or not fits(kept.text for kept in here.addresses.values()):
            here.addresses.popitem(last=False)


def _canonical(params: dict[str, str]) -> str:
    text = repr(sorted(params.items()))
    return hashlib.sha256(text.encode("utf-8", errors="replace")).hexdigest()[:16]
