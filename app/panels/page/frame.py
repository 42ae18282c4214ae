"""The frame of the pages that Streamlit draws, and the answer of the other pages to an event."""

from collections.abc import Callable
from typing import NamedTuple

import streamlit as st

from app.markdown import literal, plain
from app.panels.page import header
from app.server import serving
from app.server.limits import LimitError
from app.state import visit
from app.texts import _, sentence
from components.mounting import Part, answering
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
