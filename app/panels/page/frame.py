"""What pages have in common: the header; on pages that work on a text the box below it, and how the text was read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar

import streamlit as st

from app.markdown import literal, plain
from app.panels.page import header, lesson, text
from app.panels.page.text import Reading
from app.server import serving
from app.server.limits import LimitError
from app.state import session, visitor_models
from app.state.history import History
from app.state.lab_state import LabState
from app.texts import _
from components import answering
from models import HeadPlan, Lab
from models.labs.foreign import ForeignError
from models.storage.checkpoint import CheckpointError

T = TypeVar("T")


def under_header(draw: Callable[[Lab, Reading, LabState], T],
                 limit: Callable[[Lab, HeadPlan], int] | None = None) -> T | None:
    """Draws the top and, under it, the page; None, with a message on the page, if the model cannot be loaded.

    Args:
        draw: gets the model, the text as read, and the present state.
        limit: tokens that the page reads at most, of a model under a plan; the model's own by default.
    """
    history = session.history()
    with serving.drawing():
        above = _read(history, limit)
        if above is None:
            return None
        lab, reading = above
        header.draw(history, reading.prompt.read_chars)
        try:
            lesson.beside(lab, reading, history.present)
            text.draw(lab, history, reading)
            return draw(lab, reading, history.present)
        except LimitError as error:  # what was drawn so far stays, and so does the visitor's state
            st.warning(_(str(error)))
            return None
        except CheckpointError as error:  # a measurement that a part of the page needs
            st.error(plain(_(str(error))))
            return None


def in_one_column(draw: Callable[[], None], width: int | Literal["stretch"] = 960) -> None:
    """A page without the text box, and without the choice of a model, which does nothing there. What the opened link
    said that could not be read is told first."""
    history = session.history()
    session.fill_widgets()
    answering(None)
    with serving.drawing():
        header.draw(history)
        with st.container(width=width):
            for problem in history.problems:
                st.warning(literal(_(problem)))
            try:
                draw()
            except LimitError as error:
                st.warning(_(str(error)))
            except CheckpointError as error:
                st.error(plain(_(str(error))))


def _read(history: History, limit: Callable[[Lab, HeadPlan], int] | None) -> tuple[Lab, Reading] | None:
    session.fill_widgets()
    answering(history.present.text)
    try:
        lab = visitor_models.opened(history.present.model)
    except (CheckpointError, ForeignError) as error:
        header.draw(history)
        # Our own words hold a command to copy; what is said of a foreign model may hold its name, as somebody wrote it.
        said = _(str(error))
        st.error(plain(said) if isinstance(error, CheckpointError) else literal(said))
        return None
    return lab, text.read(lab, history, limit and limit(lab, history.present.alone(lab.name).plan))
