"""Event handlers of lessons and of the start page."""

import contextlib
from dataclasses import replace
from typing import Any

from app.state import session, visit
from app.state.lab_state import FIRST_PAGE, LAB, SHOWN, START, TEACHERS, TRAINING
from app.state.lessons.lesson_files import CHOICES, ORDER, Place, step_at
from app.state.link import opened_by, settled
from app.state.session import history, is_index
from app.state.shared import fit
from models.plan import HeadPlan


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
    """Leaves the lesson and restores the state before the lesson, or keeps the present state if none is stored.

    Language and large type stay as the visitor has set them, also inside the lesson.
    """
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
            first = settled(past.present, opened_by(None))
            first = replace(first, plan=fit(HeadPlan.read(event["plan"])[0], first.models)[0])
            if event["type"] == "lab":
                scope = "row" if len(first.plan.heads) > 1 else first.selection.scope
                first = replace(first, page=LAB, selection=replace(first.selection, scope=scope))
            past.do(first)
        case "lesson":
            take_step(Place(ORDER[0], 1))
        case "training":
            past.do(replace(past.present, page=TRAINING))
