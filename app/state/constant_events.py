"""What visitors do on the Constant page, as changes of their History."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from app.state import session
from app.state.constant_view import TASKS, ConstantView, is_study
from app.state.session import history
from models.studies.papa.ways import FRACTIONS


def on_constant() -> None:
    """Other heads, another task or another study."""
    present, asked = history().present, session.widget
    shown = present.constant
    step, task = asked(session.CONSTANT_STEP, int, shown.step), asked(session.CONSTANT_TASK, str, shown.task)
    study = asked(session.STUDY, str, shown.study)
    if 0 <= step < len(FRACTIONS) and task in TASKS and is_study(study):
        history().do(replace(present, constant=ConstantView(step, task, study)), merge="viewing")


def on_constant_chart(event: dict[str, Any], counts: Sequence[int]) -> None:
    """A place in a chart of the page, whose numbers of heads are `counts`."""
    if event.get("type") == "at" and event.get("x") in [*counts]:
        present = history().present
        shown = replace(present.constant, step=[*counts].index(event["x"]))
        history().do(replace(present, constant=shown), merge="viewing")
