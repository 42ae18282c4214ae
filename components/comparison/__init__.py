"""A table of several models' results on one text, one row per model, before and after the plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from components.mounting import Content, component


class Answer(TypedDict):
    """The top-1 answer of a model, unmodified (before) and after the plan.

    Attributes:
        before, after: the label.
        p_before, p_after: the probability.
        right_before, right_after: whether the answer is right; None if unknown.
    """

    before: str
    p_before: float
    right_before: bool | None
    after: str
    p_after: float
    right_after: bool | None


class Row(TypedDict):
    """One model.

    Attributes:
        name: short name of the model.
        title: title of its attention type.
        colour, dash: of its series in charts.
        answer: None if the model predicts nothing.
        loss: nats, unmodified and after the plan; None if unknown.
        moved: KL divergence from the unmodified model in nats; None if unknown.
        apart: KL divergence from the first model in nats, after the plan; None for the first model and if unknown.
        problem: the reason why the row has no results; empty if it has results.
    """

    name: str
    title: str
    colour: int
    dash: int
    answer: Answer | None
    loss: tuple[float, float] | None
    moved: float | None
    apart: float | None
    problem: str


@component("comparison")
def comparison(*, key: str, rows: Sequence[Row], asked: str, changed: bool) -> Content:
    """Draws the table.

    Args:
        key: key of the mount.
        rows: one per model.
        asked: the question that the answers belong to, like `Next token after “time”`; empty without answers.
        changed: False for the empty plan: one value per cell, no comparison.
    """
    header = {"rows": [dict(row) for row in rows], "asked": asked, "changed": bool(changed)}
    return header, {}
