"""The open step of a lesson in the Lab; its condition can test the prediction."""

from typing import Any

from app import compute
from app.lab.view import View
from app.panels.page import lesson
from app.state.lab_state import LabState
from app.state.lessons.conditions import Outcome
from models import Output


def content(view: View) -> dict[str, Any] | None:
    """Returns the step for the browser, as app/panels/page/lesson.py describes it; None outside lessons."""
    return lesson.content(view.state, outcome(view)) if view.state.lesson else None


def outcome(view: View) -> Outcome:
    """Returns the results that a step's condition can test."""
    return lesson.outcome(view.state, _label(view.after.outputs, view.state), _label(view.before.outputs, view.state))


def _label(outputs: tuple[Output, ...], state: LabState) -> str:
    if not outputs:
        return ""
    output = compute.shown_output(outputs, state.prediction)
    return output.names[output.top()[0]]
