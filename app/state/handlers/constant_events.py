"""Event handlers of the Constant page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from app.state import session
from app.state.pages.constant_view import TASKS, ConstantView, is_study
from app.state.session import history


@session.exclusive
def on_constant() -> None:
    """Handles the choice of the task or of the measured model (study)."""
    present, value_of = history().present, session.widget
    view = present.constant
    task, study = value_of(session.CONSTANT_TASK, str, view.task), value_of(session.STUDY, str, view.study)
    if task in TASKS and is_study(study):
        history().do(replace(present, constant=ConstantView(view.step, task, study)), merge="viewing")


def on_constant_place(event: dict[str, Any], counts: Sequence[int]) -> None:
    """Handles a new number of constant heads, from the slider or a click in a chart."""
    if event.get("type") == "at" and event.get("x") in [*counts]:
        present = history().present
        view = replace(present.constant, step=[*counts].index(event["x"]))
        history().do(replace(present, constant=view), merge="viewing")
