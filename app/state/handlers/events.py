"""What visitors do, as changes of their History. What the browser sends is checked here: widgets and events can hold
anything."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

from app.state import session, visit
from app.state.fields import MAX_ASKED, MAX_LENGTH
from app.state.lab_state import (
    CLAIMS,
    FIRST_PAGE,
    HEAD,
    LAST,
    MAX_COMPARED,
    MAX_TEXT,
    PAGES,
    PARTS,
    SECTIONS,
    START,
    LabState,
)
from app.state.link import lab_of, read_query
from app.state.session import history, is_index, widget
from app.texts import LANGUAGES
from models import catalogue, held
from models.generate.sampling import MAX_SEED, Sampling
from models.messages import told
from models.plan import HeadPlan


@session.exclusive
def on_text() -> None:
    text = widget(session.TEXT, str)
    if text is None:
        return
    set_text(text, merge="typing")
    if len(text) > MAX_TEXT:
        history().problems = [told("The text has {count:,} characters; the first {most:,} were kept.",
                                   count=len(text), most=MAX_TEXT)]


@session.exclusive
def set_text(text: str, merge: str = "", asked: int = LAST) -> None:
    """Another text, and which of its predictions is shown; `merge` as in History.do."""
    history().do(replace(history().present, text=text[:MAX_TEXT], asked=asked), merge)


def on_chooser(event: dict[str, Any]) -> None:
    """Another model."""
    name = event.get("model")
    if event.get("type") == "model" and isinstance(name, str) and (name in catalogue.names() or held(name) is not None):
        history().go_to_model(name)
        if history().present.page == START:
            go_to(FIRST_PAGE)


@session.exclusive
def open_model(name: str) -> None:
    """Goes to a foreign model that has just been loaded, with what the link said that asked for it."""
    past = history()
    wanted, past.wanted = past.wanted, {}
    if wanted.get("model") == name:
        state, problems = read_query(wanted)
        past.open(replace(state, language=past.present.language), problems)
    else:
        past.do(replace(past.present.with_model(name), page="explore"))


@session.exclusive
def go_to(page: str) -> None:
    """Another page."""
    history().do(replace(history().present, page=page))


@session.exclusive
def on_example() -> None:
    text = widget(session.EXAMPLE, str)
    if text in (example for _, example in catalogue.find(history().present.model).task.examples):
        set_text(text)


@session.exclusive
def on_compared() -> None:
    present = history().present
    family = catalogue.family(present.model)
    chosen = [name for name in widget(session.COMPARED, list, present.compared) if name in family]
    # In the order in which they were chosen: one too many takes the place of the first.
    order = [name for name in present.compared if name in chosen]
    order += [name for name in chosen if name not in order]
    history().do(replace(present, compared=tuple(order[-MAX_COMPARED:])).with_model(present.model))


@session.exclusive
def compare_with(name: str) -> None:
    """One model beside the first, which had none."""
    present = history().present
    history().do(replace(present, compared=(name,)).with_model(present.model))


@session.exclusive
def on_length() -> None:
    length = widget(session.LENGTH, int)
    if is_index(length, MAX_LENGTH + 1):
        history().do(replace(history().present, length=length), merge="length")


def on_length_chart(event: dict[str, Any]) -> None:
    """A place in a chart of lengths."""
    if event.get("type") == "at" and is_index(event.get("x"), MAX_LENGTH + 1):
        history().do(replace(history().present, length=event["x"]), merge="length")


@session.exclusive
def on_section() -> None:
    section = widget(session.SECTION, str)
    if section in (HEAD, *SECTIONS):
        history().do(replace(history().present, section="" if section == HEAD else section), merge="viewing")


@session.exclusive
def on_part() -> None:
    part = widget(session.PART, str)
    if part in PARTS:
        history().do(replace(history().present, part=part), merge="viewing")


@session.exclusive
def on_claim() -> None:
    if widget(session.CLAIM, str) in CLAIMS:
        history().do(replace(history().present, claim=widget(session.CLAIM, str)), merge="viewing")


@session.exclusive
def set_budgets(budgets: tuple[int, ...]) -> None:
    """Another memory to write with; none for all of it."""
    history().do(replace(history().present, budgets=budgets))


@session.exclusive
def on_greedy() -> None:
    """The likeliest token, or again drawn."""
    sampling = history().present.sampling
    greedy = widget(session.GREEDY, bool, sampling.is_greedy)
    _sample(replace(sampling, temperature=0.0 if greedy else sampling.temperature or Sampling().temperature))


@session.exclusive
def on_sampling() -> None:
    """Temperature, top-p and seed, as their widgets have them."""
    old = history().present.sampling
    temperature, top_p = widget(session.TEMPERATURE, float, old.temperature), widget(session.TOP_P, float, old.top_p)
    with contextlib.suppress(ValueError):
        _sample(Sampling(round(temperature, 2), round(top_p, 2), widget(session.SEED, int, old.seed)))


@session.exclusive
def draw_another() -> None:
    """The next seed, and a continuation with it."""
    sampling = history().present.sampling
    _sample(replace(sampling, seed=(sampling.seed + 1) % (MAX_SEED + 1)))
    visit.current().begin_writing = True


def _sample(sampling: Sampling) -> None:
    history().do(replace(history().present, sampling=sampling), merge="sampling")


def on_toolbar(event: dict[str, Any]) -> None:
    past = history()
    match event.get("type"):
        case "undo":
            past.undo()
        case "redo":
            past.redo()
        case "reset":  # the heads come back; the text stays, and what the pages show
            cleared = LabState(past.present.model)
            past.do(replace(past.present, plan=HeadPlan(), selection=cleared.selection.within(past.present.shape),
                            view="used", asked=LAST, budgets=()))
        case "page" if event.get("page") in [*PAGES]:  # a list has `in` for what has no hash, too
            past.do(replace(lab_of(past.present), page=event["page"]))
        case "language" if event.get("language") in [*LANGUAGES]:
            past.speak(event["language"])
        case "address" if isinstance(event.get("query"), str):
            session.begin_at(event["query"].removeprefix("?"))


def on_effect(event: dict[str, Any]) -> None:
    """Another of the text's predictions."""
    if event.get("type") == "prediction" and is_index(event.get("index"), MAX_ASKED + 1):
        history().do(replace(history().present, asked=event["index"]), merge="asking")
