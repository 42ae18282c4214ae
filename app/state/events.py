"""Event handlers that several pages use; each handler changes the visitor's History.

Handlers check every value, because a forged message can contain anything.
"""

import contextlib
from dataclasses import replace
from typing import Any

from app.state import session, visit
from app.state.fields import MAX_LINK_TEXT
from app.state.lab_state import FIRST_PAGE, LAB, LAST, MAX_TEXT, PAGES, SHOWN, START, TEACHERS, TRAINING, policies_of
from app.state.lab_view import MEASURES, MOST_TOKENS, NONE
from app.state.lessons import CHOICES, ORDER, Place, step_at
from app.state.link import lab_of, opened_by, read_query, settled
from app.state.selection import address_of, changed, scaled, selected
from app.state.session import history, is_index
from app.texts import LANGUAGES
from models import cached, catalogue
from models.analysis.pruning_orders import Order, pruned
from models.messages import message
from models.plan import OUTPUT, PATTERN, HeadPlan
from models.storage.released import parts_of

MAX_COUNT = 2**53  # largest accepted number of characters of a text that the browser cut
TRIM, CHAT = "trim", "chat"  # names of the buttons below the text box
MAX_PROGRESS = 200  # largest number of lesson steps in an event


def on_lesson(event: dict[str, Any]) -> None:
    """Handles an event of a lesson's panel: another step, an answer, the classroom display, leaving."""
    past = history()
    present = past.present
    match event.get("type"):
        case "step" if isinstance(event.get("to"), str):
            with contextlib.suppress(ValueError):
                take_step(Place.parse(event["to"]))
        case "answer" if present.lesson is not None and not session.may_show_answer(present.lesson, present.answer):
            question, choice = step_at(present.lesson).question, event.get("choice")
            if question is not None and (choice is None or is_index(choice, len(question.choices))):
                answer = SHOWN if choice is None else CHOICES[choice]
                visit.current().answers[present.lesson] = answer
                past.do(replace(present, answer=answer), merge="answering")
        case "teach" if isinstance(event.get("on"), bool):
            past.do(replace(present, teach=event["on"]))
        case "leave":
            leave_lesson()


@session.exclusive
def take_step(place: Place) -> None:
    """Opens a step of a lesson. The state before the lesson is stored; `leave_lesson` restores it."""
    past = history()
    present = past.present
    if present.lesson is None:
        visit.current().aside = None if present.page == START else present
    opened = settled(present, opened_by(place))
    past.do(replace(opened, lesson=place, answer=visit.current().answers.get(place, "")))


@session.exclusive
def leave_lesson(page: str = "") -> None:
    """Leaves the lesson and restores the state before it, if it is stored; language and large type stay."""
    past = history()
    kept = settled(past.present, visit.current().aside or past.present)
    past.do(replace(kept, page=page or (FIRST_PAGE if kept.page == START else kept.page), lesson=None, answer=""))
    visit.current().aside = None


@session.exclusive
def restart() -> None:
    """Opens the experiment of the start page again."""
    first = settled(history().present, opened_by(None))
    history().do(replace(first, lesson=None, answer=""))


def on_lessons(event: dict[str, Any]) -> None:
    """Handles an event of the page Lessons: the page for teachers, the start page, or a step."""
    match event.get("type"):
        case "teachers":
            history().do(replace(history().present, page=TEACHERS))
        case "start":
            restart()
        case "step":
            on_lesson(event)


def on_start(event: dict[str, Any]) -> None:
    """Handles an event of the start page: a new plan, the Lab with a plan, the first lesson, or the page Training."""
    past = history()
    match event.get("type"):
        case "plan" | "lab" if isinstance(event.get("plan"), str):
            first = settled(past.present, opened_by(None)).with_plan(HeadPlan.read(event["plan"])[0])
            if event["type"] == "lab":
                scope = "row" if len(first.plan.heads) > 1 else first.selection.scope
                first = replace(first, page=LAB, selection=replace(first.selection, scope=scope))
            past.do(first)
        case "lesson":
            take_step(Place(ORDER[0], 1))
        case "training":
            past.do(replace(past.present, page=TRAINING))


def on_text(event: dict[str, Any]) -> None:
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


def on_heads(event: dict[str, Any]) -> None:
    """Handles an event of heads: selection, gates, constant heads, scale."""
    past = history()
    present = past.present
    if event.get("type") == "scale":
        past.do(replace(present, plan=scaled(present.plan, event, policies_of(present.models))), merge="scale")
        return
    shape = present.shape
    selection = selected(event, shape)
    if selection is None:
        return
    if event.get("type") == "select":
        past.do(replace(present, selection=selection), merge="selecting")
    elif event.get("type") == "heads" and (plan := changed(present.plan, event, selection, shape)) is not None:
        # All events of one slider drag are one undo step.
        past.do(present.with_plan(plan), merge=f"gate {selection}" if event.get("drag") is not None else "")
        if event.get("drag") is False:
            past.settle()


def set_plan(plan: HeadPlan) -> None:
    """Replaces the plan, for example by the result of a search; heads that none of the models has are removed."""
    history().do(history().present.with_plan(plan))


def prune_to(order: Order, left: int) -> None:
    past = history()
    plan = pruned(past.present.plan, order, left)
    past.do(past.present.with_plan(plan), merge="pruning")  # repeated key presses are one undo step


def on_answer(event: dict[str, Any]) -> None:
    """Handles an event of a tool that explains the prediction: choice of tokens, second prompt, patches."""
    past = history()
    present = past.present
    match event.get("type"):
        case "patch":
            address = address_of(event.get("kind"), event.get("layer"), event.get("head"), present.shape)
            if address is not None:
                what = present.explanation.what if event.get("on") is True else ""
                past.do(present.with_plan(present.plan.patch(*address, what)))
        case "choose" if event.get("name") in ("token", "against"):
            token = event.get("value")
            if token == NONE or is_index(token, MOST_TOKENS):
                change: dict[str, Any] = {event["name"]: token}
                past.do(replace(present, explanation=replace(present.explanation, **change)), merge="viewing")
        case "choose" if event.get("name") == "measure" and event.get("value") in [*MEASURES.values()]:
            past.do(replace(present, explanation=replace(present.explanation, measure=event["value"])), merge="viewing")
        case "choose" if event.get("name") == "what" and event.get("value") in (OUTPUT, PATTERN):
            heads = [address for address, state in present.plan.heads.items() if state.patch]
            past.do(replace(present, explanation=replace(present.explanation, what=event["value"]),
                            plan=present.plan.with_heads(heads, patch=event["value"])), merge="viewing")
        case "source" if isinstance(event.get("text"), str):
            past.do(replace(present, source=event["text"][:MAX_LINK_TEXT]), merge="second prompt")
        case "pair" if isinstance(event.get("text"), str) and isinstance(event.get("source"), str):
            past.do(replace(present, text=event["text"][:MAX_LINK_TEXT], source=event["source"][:MAX_LINK_TEXT],
                            plan=present.plan.without_patches()))
