"""Event handlers for text, model, pages and the header; each handler changes the visitor's History.

Handlers check every value, because a forged message can contain anything.
"""

import contextlib
from dataclasses import replace
from typing import Any

from app.state import session, visit
from app.state.handlers.lesson_events import leave_lesson
from app.state.lab_state import FIRST_PAGE, LAB, LAST, MAX_TEXT, PAGES, START
from app.state.lessons.lesson_files import Place
from app.state.link import lab_of, read_query
from app.state.session import history, is_index
from app.texts import LANGUAGES
from models import cached, catalogue
from models.messages import message
from models.plan import HeadPlan
from models.storage.released import parts_of

MAX_COUNT = 2**53  # largest accepted number of characters of a text that the browser cut
TRIM, CHAT = "trim", "chat"  # names of the buttons below the text box
MAX_PROGRESS = 200  # largest number of lesson steps in an event


def on_text(event: dict[str, Any]) -> None:
    """Handles a change of the text box."""
    text, count = event.get("text"), event.get("count", 0)
    if not isinstance(text, str):
        return
    set_text(text, merge="typing")
    count = max(len(text), count if is_index(count, MAX_COUNT) else 0)
    if count > MAX_TEXT:
        history().problems = [message("Only the first {most:,} characters are read.", most=MAX_TEXT)]


def on_notice(name: object) -> None:
    """Handles the buttons in the line below the text box: removal of blanks at the end, and the chat template."""
    present = history().present
    if name == TRIM:
        set_text(present.text.rstrip())
    elif name == CHAT and (present.chat or catalogue.find(present.model).task.chats):
        history().do(replace(present, chat=not present.chat, prediction=LAST))


@session.exclusive
def set_text(text: str, merge: str = "", prediction: int = LAST) -> None:
    """Changes the text, cut after MAX_TEXT characters; `merge` as in History.do."""
    history().do(replace(history().present, text=text[:MAX_TEXT], prediction=prediction, target=""), merge)


def on_chooser(name: object) -> None:
    """Handles the choice of a model."""
    if not isinstance(name, str):
        return
    model, step = parts_of(name)
    if name in catalogue.names() or cached(name) is not None or step and catalogue.describe(name):
        history().go_to_model(name, "step" if model == parts_of(history().present.model)[0] else "")
        if history().present.page == START:
            go_to(FIRST_PAGE)


@session.exclusive
def open_model(name: str) -> None:
    """Switches to an external model that was just loaded. If a link requested the model, applies the link's state."""
    past = history()
    wanted, past.wanted = past.wanted, {}
    if wanted.get("model") == name:
        state, problems = read_query(wanted)
        past.open(replace(state, language=past.present.language), problems)
    else:
        past.do(replace(past.present.with_model(name), page=LAB))


@session.exclusive
def go_to(page: str) -> None:
    history().do(replace(history().present, page=page))


def on_toolbar(event: dict[str, Any]) -> None:
    """Handles undo, redo, reset, page, language, large type, stored progress in lessons and the browser's address."""
    past = history()
    match event.get("type"):
        case "undo":
            past.undo()
        case "redo":
            past.redo()
        case "reset":
            past.do(replace(past.present, plan=HeadPlan(), budgets=()))
        # a list, because `in` on a dict raises an error for unhashable values
        case "page" if event.get("page") in [*PAGES]:
            if past.present.lesson is not None:
                leave_lesson(event["page"])
                return
            state = replace(lab_of(past.present), page=event["page"])
            past.do(state)
        case "language" if event.get("language") in [*LANGUAGES]:
            past.speak(event["language"])
        case "large" if isinstance(event.get("on"), bool):
            past.do(replace(past.present, teach=event["on"]))
        case "open" if isinstance(event.get("query"), str) and session.is_short(event["query"]):
            state, problems = read_query(session.fields_of(event["query"]))
            past.open(replace(state, language=past.present.language), problems)
        case "progress" if isinstance(event.get("done"), list):
            for place in event["done"][:MAX_PROGRESS]:
                if isinstance(place, str):
                    with contextlib.suppress(ValueError):
                        visit.current().ticked.add(Place.parse(place))
        case "address" if isinstance(event.get("query"), str):
            session.begin_at(event["query"])
