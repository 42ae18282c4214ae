"""A table of models: a row per way to attend, a column per task, a dot per model."""

from collections.abc import Sequence
from typing import TypedDict

from components.mounting import Content, OnEvent, component


class Dot(TypedDict):
    """A model: its name, its title, its short name in charts, and its score on held-out texts in words."""

    name: str
    title: str
    label: str
    score: str


class Row(TypedDict):
    """A way to attend: its title, a line about it, and the models of each task, in the order of the columns."""

    title: str
    line: str
    cells: list[list[Dot]]


@component("models")
def models(*, key: str, tasks: Sequence[str], rows: Sequence[Row], present: str, on_event: OnEvent) -> Content:
    """Displays the table.

    Args:
        key: key of the mount.
        tasks: the titles of the columns.
        rows: the rows.
        present: name of the open model, whose dot has a ring.
        on_event: called with {type: model, model: name, sequence}.
    """
    return {"tasks": list(tasks), "rows": list(rows), "present": present}, {}
