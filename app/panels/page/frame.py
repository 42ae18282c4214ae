"""The frame of every page: the header and, on pages with a prompt, the text box and the line below it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Sequence
from typing import Literal, NamedTuple, TypeVar

import streamlit as st

from app.markdown import literal, plain
from app.panels.page import header, lesson, text
from app.panels.page.text import Reading
from app.server import serving
from app.server.limits import LimitError
from app.state import session, visit, visitor_models
from app.state.lab_state import LabState
from app.texts import _
from components import Part, answering, mount
from models import HeadPlan, Lab
from models.labs.foreign import ForeignError
from models.storage.checkpoint import CheckpointError

T = TypeVar("T")


class Direct(NamedTuple):
    """The payloads that the events route sends for a page: the components of `under_header`, created without Streamlit.

    Attributes:
        depends: returns a key of everything that the page's Streamlit elements depend on. If the key changes, Streamlit
            generates the page.
        parts: returns the components of the page.
        late: returns functions that create the components which take longer than the attention maps.
        limit: (model, plan) -> maximum number of tokens on the page; None for the model's limit.
    """

    depends: Callable[[Lab, Reading, LabState], Hashable]
    parts: Callable[[Lab, Reading, LabState], list[Part]]
    late: Callable[[Lab, Reading, LabState], list[Callable[[], Part]]]
    limit: Callable[[Lab, HeadPlan], int] | None = None



def under_header(draw: Callable[[Lab, Reading, LabState], T], direct: Direct | None = None,
                 has_box: Callable[[Lab, LabState], bool] | None = None) -> T | None:
    """Displays the header, the text box and the page.

    Args:
        draw: displays the page; its arguments are the model, the tokenized text and the present state.
        direct: the payloads for the events route; without this argument every event runs the Streamlit script.
        has_box: returns True if the page uses the input text with this model; default: always True.

    Returns:
        The result of `draw`; None, with a message on the page, if the model cannot be loaded.
    """
    now = visit.current()
    now.layout, now.channel.direct = None, direct is not None
    with serving.drawing():
        session.fill_widgets()
        with now.channel.lock:  # an event that arrives after this must not count as processed in this state
            answering()
            state, problems = now.history.present, now.history.problems
        try:
            lab = visitor_models.opened(state.model)
        except (CheckpointError, ForeignError) as error:
            header.draw()
            # Messages about our own models contain Markdown with a command to copy. Messages about external models can
            # contain a name chosen by the model's owner and are escaped.
            said = _(str(error))
            st.error(plain(said) if isinstance(error, CheckpointError) else literal(said))
            return None
        reading = _read(lab, state, direct)
        with contextlib.suppress(LimitError, CheckpointError):  # reported below, where the components are created again
            lesson.parts(lab, reading, state)  # ticks the step, which the header sends to the browser
        header.draw(reading.prompt.read_chars)
        try:
            for part in lesson.parts(lab, reading, state):
                mount(part)
            if has_box is None or has_box(lab, state):
                text.draw(lab, reading, state, problems)
            else:
                _report(problems)
            drawn = draw(lab, reading, state)
            now.layout = direct and (_frame(lab, state), direct.depends(lab, reading, state))
            now.channel.end()
            return drawn
        except LimitError as error:  # the elements displayed so far and the visitor's state are kept
            st.warning(_(str(error)))
            return None
        except CheckpointError as error:  # a stored measurement is missing or damaged
            st.error(plain(_(str(error))))
            return None


def parts(page: Direct, state: LabState, problems: Sequence[str]) -> tuple[list[Part], list[Callable[[], Part]]] | None:
    """Returns the components of a page, for the events route.

    Args:
        page: the page.
        state: the visitor's state.
        problems: messages about parts of the opened link that could not be parsed.

    Returns:
        The components that are ready, and functions that compute the late components; None if Streamlit must generate
        the page.

    Raises:
        CheckpointError, ForeignError, LimitError: the reason why the page shows nothing.
    """
    now = visit.current()
    lab = visitor_models.opened(state.model)
    reading = _read(lab, state, page)
    if now.layout is None or now.layout != (_frame(lab, state), page.depends(lab, reading, state)):
        return None
    found = [*lesson.parts(lab, reading, state), *text.parts(lab, reading, state, problems),
             *page.parts(lab, reading, state)]
    return [*header.parts(now, state, reading.prompt.read_chars), *found], page.late(lab, reading, state)


def _read(lab: Lab, state: LabState, page: Direct | None) -> Reading:
    """Returns the text of a page, tokenized."""
    limit = page and page.limit and page.limit(lab, state.for_model(lab.name).plan)
    return text.read(lab, visit.current().history, state.text, limit)


def _frame(lab: Lab, state: LabState) -> Hashable:
    """Returns a key of everything that the Streamlit elements around a page depend on."""
    step = state.lesson is not None
    box = text.layout(lab, state)
    return state.page, lab.identity, state.compared, state.language, state.teach, step, box


def _report(problems: Sequence[str]) -> None:
    """Displays a message for each part of the opened link that could not be parsed."""
    for problem in problems:
        st.warning(literal(_(problem)))


def in_one_column(draw: Callable[[], None], width: int | Literal["stretch"] = 960) -> None:
    """Displays a page without text box and choice of a model; reports invalid parts of the opened link first.

    Args:
        draw: displays the page.
        width: pixels, or "stretch".
    """
    now = visit.current()
    now.layout, now.channel.direct = None, False
    session.fill_widgets()
    answering()
    with serving.drawing():
        header.draw()
        with st.container(width=width):
            _report(now.history.problems)
            try:
                draw()
                now.channel.end()
            except LimitError as error:
                st.warning(_(str(error)))
            except CheckpointError as error:
                st.error(plain(_(str(error))))
