"""The page Models: a table of models, a dot per model, and below it the field that opens another model."""

from collections.abc import Sequence
from typing import Any, TypedDict

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
def models(*, key: str, on_event: OnEvent, tasks: Sequence[str], rows: Sequence[Row], present: str,
           **opening: Any) -> Content:
    """Displays the table and the field.

    Args:
        key: key of the mount.
        on_event: called with {type: model, model: name}, {type: find, text} or {type: load}, each with its sequence.
        tasks: the titles of the columns.
        rows: the rows.
        present: name of the open model, whose dot has a ring.
        opening: about, label, help and example, texts around the field; offered, its first text; typed, the text that
            was submitted last; size of the model that can be loaded, or empty; errors and problems, sentences; busy,
            True if the field takes no text; groups, suggested models as (title, names).
    """
    return {"tasks": list(tasks), "rows": list(rows), "present": present} | opening, {}
