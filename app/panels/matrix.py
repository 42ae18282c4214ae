"""The matrix of recorded trainings: which attention type learns which task. Training and Findings show it."""

from typing import Any

from app.texts import N_, _, ngettext
from learning import recorded
from learning.loop import baseline
from learning.recipe import STEPS, Recipe
from learning.tasks import READERS, TASKS, Task
from models.nets.attention import TYPES

EVEN = N_("All heads constant")
USUAL = 3  # seeds that are not written in a cell


def table() -> dict[str, Any]:
    """Returns the accuracies of the recorded trainings: a row per task, a column per attention type."""
    measured = recorded.matrix()
    rows = [{"task": name, "title": _(task.title), "baseline": share(baseline(name)),
             "line": f"{task.example} → {right_answer(task)}\n{_(task.needs)}",
             "cells": [_cell(measured[name].get(column, [])) for column in recorded.COLUMNS]}
            for name, task in TASKS.items()]
    columns = [{"name": column, "title": _(EVEN if column == recorded.EVEN else TYPES[column].title)}
               for column in recorded.COLUMNS]
    return {"columns": columns, "rows": rows,
            "about": _("Share of right answers after {n:,} steps of training. Press one to watch.",
                       n=STEPS),
            "note": _("Small numbers: 90% interval over three seeds, or the number written.")}


def _cell(values: list[float]) -> dict[str, Any]:
    """Returns the mean accuracy over seeds with its interval, as text and as numbers, and the number of seeds."""
    if not values:
        return {"share": "–", "part": [0, 0, 0], "range": _("not trained")}
    mean, low, high = recorded.interval(values)
    parts = [" – ".join(dict.fromkeys((share(low), share(high))))] if len(values) > 1 else []
    if len(values) != USUAL:
        parts.append(ngettext("{n} seed", "{n} seeds", len(values)))
    return {"share": share(mean), "part": [mean, low, high], "range": " · ".join(parts)}


def right_answer(task: Task) -> str:
    """Returns the right answer of the watched sequence."""
    return task.labels[READERS[task.name].read(task.example).targets[-1]]


def share(value: float) -> str:
    """Returns a whole percentage; 0% and 100% only for exact values, as in core/stage/sentences.js."""
    percent = round(100 * value)
    return "<1%" if percent == 0 and value > 0 else ">99%" if percent == 100 and value < 1 else f"{percent}%"


def chosen(event: dict[str, Any]) -> Recipe | None:
    """Returns the training of the cell that an event names; None for a wrong event."""
    task, column = event.get("task"), event.get("column")
    return recorded.recipe_of(task, column) if task in [*TASKS] and column in [*recorded.COLUMNS] else None
