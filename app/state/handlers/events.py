"""Event handlers for text, model, pages, toolbar and sampling; each handler changes the visitor's History.

Handlers check every value, because a forged message can contain anything.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from app.state import session, visit
from app.state.fields import MAX_ASKED, MAX_LENGTH
from app.state.handlers.lesson_events import leave_lesson
from app.state.lab_state import (
    CLAIMS,
    FIRST_PAGE,
    HEAD,
    LAST,
    MAX_COMPARED,
    MAX_TEXT,
    NEEDS,
    PAGES,
    PARTS,
    SECTIONS,
    START,
    LabState,
)
from app.state.lessons.lesson_files import Place
from app.state.link import lab_of, read_query
from app.state.pages.answer_view import MOST_TOKENS
from app.state.pages.companions import with_companion
from app.state.session import history, is_index, widget
from app.texts import LANGUAGES
from models import cached, catalogue
from models.generate.sampling import MAX_SEED, Sampling
from models.messages import message
from models.plan import HeadPlan

MAX_COUNT = 2**53  # largest accepted number of characters of a text that the browser cut
TRIM, CHAT = "trim", "chat"  # names of the buttons below the text box
MAX_PROGRESS = 200  # largest number of lesson steps in an event


def on_text(event: dict[str, Any]) -> None:
    """Handles a change of the text box."""
    text, count = event.get("text"), event.get("count", 0)
    if event.get("type") != "text" or not isinstance(text, str):
        return
    set_text(text, merge="typing")
    count = max(len(text), count if is_index(count, MAX_COUNT) else 0)
    if count > MAX_TEXT:
        history().problems = [message("The text has {count:,} characters; the first {most:,} were kept.",
                                      count=count, most=MAX_TEXT)]


def on_notice(event: dict[str, Any]) -> None:
    """Handles the buttons in the line below the text box: removal of blanks at the end, and the chat template."""
    present = history().present
    if event.get("type") != "act":
        return
    if event.get("name") == TRIM:
        set_text(present.text.rstrip())
    elif event.get("name") == CHAT and (present.chat or catalogue.find(present.model).task.chats):
        history().do(replace(present, chat=not present.chat, prediction=LAST))


@session.exclusive
def set_text(text: str, merge: str = "", prediction: int = LAST) -> None:
    """Changes the text, cut after MAX_TEXT characters; `merge` as in History.do."""
    history().do(replace(history().present, text=text[:MAX_TEXT], prediction=prediction), merge)


def on_chooser(event: dict[str, Any]) -> None:
    """Handles the choice of a model."""
    name = event.get("model")
    if event.get("type") == "model" and isinstance(name,
                                                   str) and (name in catalogue.names() or cached(name) is not None):
        history().go_to_model(name)
        if history().present.page == START:
            go_to(FIRST_PAGE)


@session.exclusive
def take_model(name: str) -> None:
    """Switches to a model of the catalogue without changing the page."""
    history().go_to_model(name)


@session.exclusive
def open_model(name: str) -> None:
    """Switches to an external model that was just loaded. If a link requested the model, applies the link's state."""
    past = history()
    wanted, past.wanted = past.wanted, {}
    if wanted.get("model") == name:
        state, problems = read_query(wanted)
        past.open(replace(state, language=past.present.language), problems)
    else:
        past.do(replace(past.present.with_model(name), page="explore"))


@session.exclusive
def open_link(fields: dict[str, str]) -> None:
    """Opens a link that the page offers, such as an example, as one undo step."""
    past = history()
    state, _problems = read_query(fields)
    past.do(replace(state, language=past.present.language))


@session.exclusive
def go_to(page: str) -> None:
    history().do(replace(history().present, page=page))


@session.exclusive
def on_example() -> None:
    text = widget(session.EXAMPLE, str)
    if text in (example for _, example in catalogue.find(history().present.model).task.examples):
        set_text(text)


@session.exclusive
def on_compared(key: str, offered: Sequence[str]) -> None:
    """Handles the choice of compared models in one widget. Models that other widgets offer stay as they are."""
    present = history().present
    family = catalogue.family(present.model)
    chosen = [name for name in widget(key, list, present.compared) if name in family and name in offered]
    chosen += [name for name in present.compared if name not in offered]
    # the models in the order in which they were chosen, because a fourth model replaces the first one
    order = [name for name in present.compared if name in chosen]
    order += [name for name in chosen if name not in order]
    history().do(replace(present, compared=tuple(order[-MAX_COMPARED:])).with_model(present.model))


@session.exclusive
def compare_with(name: str) -> None:
    """Selects one model for the comparison."""
    present = history().present
    history().do(replace(present, compared=(name,)).with_model(present.model))


def on_length(event: dict[str, Any]) -> None:
    """Handles the choice of a text length on the Length page, with the slider or in a chart."""
    if event.get("type") == "at" and is_index(event.get("x"), MAX_LENGTH + 1):
        history().do(replace(history().present, length=event["x"]), merge="length")


@session.exclusive
def on_section() -> None:
    """Handles the choice of the section that replaces the large map."""
    section = widget(session.SECTION, str)
    if section in (HEAD, *SECTIONS):
        history().do(replace(history().present, section="" if section == HEAD else section), merge="viewing")


@session.exclusive
def on_part() -> None:
    """Handles the choice of the part below the heads on the Compare page."""
    part = widget(session.PART, str)
    if part in PARTS:
        history().do(replace(history().present, part=part), merge="viewing")


@session.exclusive
def on_claim() -> None:
    """Handles the choice of a claim on the Results page."""
    if widget(session.CLAIM, str) in CLAIMS:
        history().do(replace(history().present, claim=widget(session.CLAIM, str)), merge="viewing")


def on_statement(event: dict[str, Any]) -> None:
    """Handles the choice of a statement in the picture of all statements: shows its claim."""
    statement = event.get("value")
    claim = statement.partition("-")[0] if isinstance(statement, str) else ""
    if event.get("type") == "pick" and claim in CLAIMS:
        history().do(replace(history().present, claim=claim), merge="viewing")


@session.exclusive
def set_budgets(budgets: tuple[int, ...]) -> None:
    """Changes the memory budgets of the continuation."""
    history().do(replace(history().present, budgets=budgets))


@session.exclusive
def on_greedy() -> None:
    """Handles the switch between greedy decoding and sampling."""
    sampling = history().present.sampling
    greedy = widget(session.GREEDY, bool, sampling.is_greedy)
    _sample(replace(sampling, temperature=0.0 if greedy else sampling.temperature or Sampling().temperature))


@session.exclusive
def on_sampling() -> None:
    """Handles a change of temperature, top-p or seed."""
    old = history().present.sampling
    temperature, top_p = widget(session.TEMPERATURE, float, old.temperature), widget(session.TOP_P, float, old.top_p)
    with contextlib.suppress(ValueError):
        _sample(Sampling(round(temperature, 2), round(top_p, 2), widget(session.SEED, int, old.seed)))


@session.exclusive
def draw_another() -> None:
    """Selects the next seed and starts a continuation with this seed."""
    sampling = history().present.sampling
    _sample(replace(sampling, seed=(sampling.seed + 1) % (MAX_SEED + 1)))
    visit.current().begin_writing = True


def _sample(sampling: Sampling) -> None:
    history().do(replace(history().present, sampling=sampling), merge="sampling")


def on_toolbar(event: dict[str, Any]) -> None:
    """Handles undo, redo, reset, page, language, large type, stored progress in lessons and the browser's address."""
    past = history()
    match event.get("type"):
        case "undo":
            past.undo()
        case "redo":
            past.redo()
        case "reset":  # a reset restores plan, selection and view, and keeps the text and the settings of the pages
            cleared = LabState(past.present.model)
            past.do(replace(past.present, plan=HeadPlan(), selection=cleared.selection.within(past.present.shape),
                            view="used", prediction=LAST, budgets=()))
        # a list, because `in` on a dict raises an error for unhashable values
        case "page" if event.get("page") in [*PAGES]:
            if past.present.lesson is not None:
                leave_lesson(event["page"])
                return
            state = replace(lab_of(past.present), page=event["page"])
            past.do(with_companion(state) if state.page == "compare" else state)
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


def on_effect(event: dict[str, Any]) -> None:
    """Handles the choice of a prediction of the text, or of a token whose logit is explained."""
    if event.get("type") == "prediction" and is_index(event.get("index"), MAX_ASKED + 1):
        history().do(replace(history().present, prediction=event["index"]), merge="prediction")
    elif event.get("type") == "token" and is_index(event.get("token"), MOST_TOKENS):
        present, token = history().present, event["token"]
        old = present.explanation
        new = replace(old, token=token) if present.section == NEEDS else old.toggled(token)
        history().do(replace(present, explanation=new), merge="viewing")
