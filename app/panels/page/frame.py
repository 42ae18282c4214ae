"""The frame of every page: the header and, on pages with a prompt, the text box and the line below it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, TypeVar

import streamlit as st

from app.markdown import literal, plain
from app.panels.page import header, text
from app.panels.page.text import Reading
from app.server import serving
from app.server.limits import LimitError
from app.state import session, visit, visitor_models
from app.state.lab_state import LabState
from app.texts import _
from components.mounting import Part, answering
from models import HeadPlan, Lab
from models.labs.foreign import ForeignError
from models.storage.checkpoint import CheckpointError

T = TypeVar("T")


class Direct(NamedTuple):
    """The payloads that the events route sends for a page: the components of `under_header`, created without Streamlit.

    Attributes:
        depends: returns a key of the page's arrangement, for example which components are on the page. If the key
            changes, the route sends no payloads and Streamlit generates the page.
        parts: returns the components of the page.
        late: returns functions that create the components which take longer than the attention maps.
        limit: (model, plan) -> maximum number of tokens on the page; None for the model's limit.
        later: returns a key of the content of the page's Streamlit elements, for example of a plotly chart. If the key
            changes, the route sends the payloads at once, and then Streamlit generates the page.
        has_box: returns True if the page uses the input text with this model; None: always. Without a text box the page
            shows another model, so the header does not name this one.
    """

    depends: Callable[[Lab, Reading, LabState], Hashable]
    parts: Callable[[Lab, Reading, LabState], list[Part]]
    late: Callable[[Lab, Reading, LabState], list[Callable[[], Part]]]
    limit: Callable[[Lab, HeadPlan], int] | None = None
    later: Callable[[Lab, Reading, LabState], Hashable] = lambda lab, reading, state: None
    has_box: Callable[[Lab, LabState], bool] | None = None


class Drawn(NamedTuple):
    """Keys of a page as Streamlit generated it; see Direct.

    Attributes:
        depends: key of the page's arrangement.
        later: key of the content of the page's Streamlit elements.
    """

    depends: Hashable
    later: Hashable


class Answer(NamedTuple):
    """The components that the events route sends for a state.

    Attributes:
        parts: the components that are ready.
        late: functions that compute the late components.
        is_outdated: True if Streamlit must generate the page afterwards, because its elements show another state.
    """

    parts: list[Part]
    late: list[Callable[[], Part]]
    is_outdated: bool


def under_header(draw: Callable[[Lab, Reading, LabState], T], direct: Direct) -> T | None:
    """Displays the header, the text box and the page.

    Args:
        draw: displays the page; its arguments are the model, the tokenized text and the present state.
        direct: the payloads for the events route.

    Returns:
        The result of `draw`; None, with a message on the page, if the model cannot be loaded.
    """
    now = visit.current()
    now.layout, now.channel.direct = None, True
    with serving.drawing():
        session.fill_widgets()
        with now.channel.lock:  # an event that arrives after this must not count as processed in this state
            answering()
            state, problems = now.history.present, now.history.problems
        try:
            lab = visitor_models.opened(state.model, state.chat)
        except (CheckpointError, ForeignError) as error:
            header.draw()
            # Messages about our own models contain Markdown with a command to copy. Messages about external models can
            # contain a name chosen by the model's owner and are escaped.
            message = _(str(error))
            st.error(plain(message) if isinstance(error, CheckpointError) else literal(message))
            return None
        reading = _read(lab, state, direct)
        header.draw(reading.prompt.read_chars, _has_box(direct, lab, state))
        try:
            # Each of these two has a fixed place, so that an element of one never moves the elements of another: the
            # browser refuses an element whose place is beyond the places that exist (“Bad delta path index”).
            with st.container():
                if _has_box(direct, lab, state):
                    text.draw(lab, reading, state, problems)
                else:
                    _report(problems)
            with st.container():
                content = draw(lab, reading, state)
            now.layout = _keys(direct, lab, reading, state, problems)
            now.channel.end()
            return content
        except LimitError as error:  # the elements displayed so far and the visitor's state are kept
            st.warning(_(str(error)))
            return None
        except CheckpointError as error:  # a stored measurement is missing or damaged
            st.error(plain(_(str(error))))
            return None


def parts(page: Direct, state: LabState, problems: Sequence[str]) -> Answer | None:
    """Returns the components of a page, for the events route.

    Args:
        page: the page.
        state: the visitor's state.
        problems: messages about parts of the opened link that could not be parsed.

    Returns:
        The components; None if Streamlit must generate the page before anything can be shown.

    Raises:
        CheckpointError, ForeignError, LimitError: the reason why the page shows nothing.
    """
    now = visit.current()
    lab = visitor_models.opened(state.model, state.chat)
    reading = _read(lab, state, page)
    former, keys = now.layout, _keys(page, lab, reading, state, problems)
    if not isinstance(former, Drawn) or former.depends != keys.depends:
        return None
    box = text.parts(lab, reading, state, problems) if _has_box(page, lab, state) else []
    content = [*box, *page.parts(lab, reading, state)]
    return Answer([*header.parts(now, state, reading.prompt.read_chars, _has_box(page, lab, state)),
                   *content], page.late(lab, reading, state),
                  former.later != keys.later)


def _read(lab: Lab, state: LabState, page: Direct) -> Reading:
    """Returns the text of a page, tokenized."""
    limit = page.limit and page.limit(lab, state.for_model(lab.name).plan)
    return text.read(lab, visit.current().history, state.text, limit)


def _has_box(page: Direct, lab: Lab, state: LabState) -> bool:
    return page.has_box is None or page.has_box(lab, state)


def _keys(page: Direct, lab: Lab, reading: Reading, state: LabState, problems: Sequence[str]) -> Drawn:
    """Returns the keys of a page and of everything around it."""
    has_box = _has_box(page, lab, state)
    frame = (state.page, lab.identity, state.compared, state.language, state.teach, has_box,
             () if has_box else tuple(problems))
    return Drawn((frame, page.depends(lab, reading, state)),
                 (state if lab.task.sees else None, page.later(lab, reading, state)))


def _report(problems: Sequence[str]) -> None:
    """Displays a message for each part of the opened link that could not be parsed."""
    for problem in problems:
        st.warning(literal(_(problem)))


def in_one_column(draw: Callable[[], None]) -> None:
    """Displays a page that is drawn by Streamlit alone; reports invalid parts of the opened link first."""
    now = visit.current()
    now.layout, now.channel.direct = None, False
    session.fill_widgets()
    answering()
    with serving.drawing():
        header.draw()
        with st.container(key="place"):
            _report(now.history.problems)
            try:
                draw()
                now.channel.end()
            except LimitError as error:
                st.warning(_(str(error)))
            except CheckpointError as error:
                st.error(plain(_(str(error))))
