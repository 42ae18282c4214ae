"""The frame of a page, for the Streamlit script and the events route: header, components, problems, progress bar."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import streamlit as st

from app import texts
from app.markdown import literal, plain
from app.server import serving
from app.server.jobs import Job
from app.server.limits import LimitError
from app.state import events, session, visit
from app.state.fields import MAX_LINK_TEXT
from app.state.lab_state import PAGES, START, TEACHERS, LabState
from app.state.link import lab_of, query_of
from app.state.visit import Visit
from app.texts import _, sentence
from components.mounting import Part, mount
from models.labs.foreign import ForeignError
from models.storage.checkpoint import CheckpointError

LESSON = "lesson"  # in place of the page's key in a lesson, so that each place is a way out of it
Parts = Callable[[LabState, Sequence[str]], list[Part]]  # (state, messages about the opened link) -> components
ReadChars = Callable[[LabState], int]  # state -> number of characters of the text that the links contain
PACE = 0.5  # seconds between two updates of the bar


def draw_header(read_chars: int = MAX_LINK_TEXT) -> None:
    """Displays the header; `read_chars` as in `header_part`."""
    now = visit.current()
    now.is_embedded = bool(st.context.is_embedded)
    mount(header_part(now, now.history.present, read_chars))


def header_part(now: Visit, state: LabState, read_chars: int = MAX_LINK_TEXT) -> Part:
    """Returns the header with links that contain the first `read_chars` of the text; stores the state's address."""
    query, past, linked = query_of(state, read_chars), now.history, lab_of(state)
    result = Part("bar", "bar", {
        "places": [(page, _(title)) for page, title in PAGES.items() if page not in (START, TEACHERS)],
        "present": LESSON if state.lesson else state.page,  # its link does nothing
        "section": "lessons" if state.lesson or state.page == TEACHERS else state.page,  # the place that is marked
        "links": query if linked == state else query_of(linked, read_chars),  # is part of each link
        "query": query,  # of the browser's address; `push` adds an entry to its history, `replace` replaces the entry
        "mode": "push" if past.push else "replace", "undo": bool(past.past), "redo": bool(past.future),
        "languages": [*texts.LANGUAGES.items()],  # addresses omit the first language
        "embedded": now.is_embedded,  # if the page is in a frame, only a link to the full app is shown
        "large": state.teach, "ticked": sorted(map(str, now.ticked))}, on_event=events.on_toolbar)
    past.push = False
    session.remember_address(query, state)
    return result


class Answer(NamedTuple):
    """The components that the events route sends for a state."""

    parts: list[Part]  # the components that are ready
    late: list[Callable[[], Part]]  # functions that compute the late components


def in_one_column(draw: Callable[[], None]) -> None:
    """Displays a page that is drawn by Streamlit alone; reports invalid parts of the opened link first."""
    now = visit.current()
    now.layout, now.channel.direct = None, False
    now.channel.begin()
    with serving.drawing():
        draw_header()
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


def draw(parts: Parts, read_chars: ReadChars = lambda state: MAX_LINK_TEXT) -> None:
    """Displays the page in the Streamlit script, or the reason why it cannot be displayed."""
    now = visit.current()
    now.layout, now.channel.direct = None, True
    with serving.drawing():
        with now.channel.lock:  # an event that arrives after this must not count as processed in this state
            now.channel.begin()
            state, problems = now.history.present, now.history.problems
        try:
            content = serving.in_turn(lambda: parts(state, problems))
        except (CheckpointError, ForeignError) as error:
            draw_header()
            message = sentence(str(error))
            # Messages about our own models contain Markdown with a command; those about others a name of their owner.
            st.error(plain(message) if isinstance(error, CheckpointError) else literal(message))
            return
        except LimitError as error:
            draw_header()
            st.warning(sentence(str(error)))
            return
        draw_header(read_chars(state))
        for part in content:
            mount(part)
        now.layout = _layout(state)
        now.channel.end()


def answer(parts: Parts, state: LabState, problems: Sequence[str], late: Iterable[Callable[[], Part]] = (),
           read_chars: ReadChars = lambda state: MAX_LINK_TEXT) -> Answer | None:
    """Returns the components, or None if Streamlit must draw; `late` computes late ones, and `parts` may add some."""
    now = visit.current()
    if now.layout != _layout(state):
        return None
    content = parts(state, problems)  # before the header, which sends the ticks of lessons to the browser
    return Answer([header_part(now, state, read_chars(state)), *content], list(late))


def _layout(state: LabState) -> Hashable:
    return state.page, state.language, state.teach


def draw_progress(job: Job[Any], on_end: Callable[[Job[Any]], None]) -> None:
    """Displays the progress bar, which updates itself. When the job has ended, calls `on_end` and reruns the page."""
    @st.fragment(run_every=PACE if job.running else None)
    def bar() -> None:
        session.speak()
        if not job.running:
            on_end(job)
            st.rerun()
        st.progress(job.share, " · ".join([literal(_(job.what)), *amounts(job)]))
        st.button(_("Cancel"), key="cancel job", on_click=job.cancel)

    bar()


def amounts(job: Job[Any]) -> list[str]:
    """Returns the completed amount and the remaining time in words, if they are known; or that the job waits."""
    if job.waiting:
        return [_("waiting for other computations to finish")]
    amounts = []
    if job.of > 10_000:  # large numbers are bytes
        amounts.append(_("{done:,.0f} of {all:,.0f} MB", done=job.done / 1e6, all=job.of / 1e6))
    elif job.of:
        amounts.append(_("{done} of {all}", done=job.done, all=job.of))
    if job.left is not None:
        amounts.append(_("{left:.0f} s left", left=job.left))
    return amounts
