"""The frame of a page of components, for the Streamlit script and the events route, and of what Streamlit draws."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple

import streamlit as st

from app.markdown import literal, plain
from app.panels.page import header
from app.server import serving
from app.server.limits import LimitError
from app.state import visit
from app.state.fields import MAX_LINK_TEXT
from app.state.lab_state import LabState
from app.texts import _, sentence
from components.mounting import Part, answering, mount
from models.labs.foreign import ForeignError
from models.storage.checkpoint import CheckpointError


class Answer(NamedTuple):
    """The components that the events route sends for a state."""

    parts: list[Part]  # the components that are ready
    late: list[Callable[[], Part]]  # functions that compute the late components


def in_one_column(draw: Callable[[], None]) -> None:
    """Displays a page that is drawn by Streamlit alone; reports invalid parts of the opened link first."""
    now = visit.current()
    now.layout, now.channel.direct = None, False
    answering()
    with serving.drawing():
        header.draw()
        with st.container(key="place"):
            for problem in now.history.problems:
                st.warning(literal(sentence(problem)))
            try:
                draw()
                now.channel.end()
            except LimitError as error:
                st.warning(sentence(str(error)))
            except CheckpointError as error:
                st.error(plain(_(str(error))))


Parts = Callable[[LabState, Sequence[str]], list[Part]]  # (state, messages about the opened link) -> components
ReadChars = Callable[[LabState], int]  # state -> number of characters of the text that the links contain


def _all_chars(state: LabState) -> int:
    return MAX_LINK_TEXT


def draw(parts: Parts, read_chars: ReadChars = _all_chars) -> None:
    """Displays the page in the Streamlit script, or the reason why it cannot be displayed."""
    now = visit.current()
    now.layout, now.channel.direct = None, True
    with serving.drawing():
        with now.channel.lock:  # an event that arrives after this must not count as processed in this state
            answering()
            state, problems = now.history.present, now.history.problems
        try:
            content = serving.in_turn(lambda: parts(state, problems))
        except (CheckpointError, ForeignError) as error:
            header.draw()
            message = sentence(str(error))
            # Messages about our own models contain Markdown with a command; those about others a name of their owner.
            st.error(plain(message) if isinstance(error, CheckpointError) else literal(message))
            return
        except LimitError as error:
            header.draw()
            st.warning(sentence(str(error)))
            return
        header.draw(read_chars(state))
        for part in content:
            mount(part)
        now.layout = _layout(state)
        now.channel.end()


def answer(parts: Parts, state: LabState, problems: Sequence[str], late: Iterable[Callable[[], Part]] = (),
           read_chars: ReadChars = _all_chars) -> Answer | None:
    """Returns the components for the events route; None if Streamlit must generate the page.

    `late` computes late components; `parts` may add to it.
    """
    now = visit.current()
    if now.layout != _layout(state):
        return None
    content = parts(state, problems)  # before the header, which sends the ticks of lessons to the browser
    return Answer([header.part(now, state, read_chars(state)), *content], list(late))


def _layout(state: LabState) -> Hashable:
    return state.page, state.language, state.teach
