"""What came of one text in several models: a row each, before and under the plan, where one acts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from components.mounting import Content, component


class Answer(TypedDict):
    """The likeliest answer of a model: as trained and under the plan.

    Attributes:
        before, after: its label.
        p_before, p_after: its probability.
        right_before, right_after: whether it is right; None where nobody knows.
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
        name: of the model, short; title: of its attention.
        colour, dash: of its series in charts.
        answer: None where nothing is predicted.
        loss: nats, as trained and under the plan; None where unknown.
        moved: KL in nats from the model as trained to itself under the plan; None where unknown.
        apart: KL in nats from the first model, under the plan; None for the first one, and where unknown.
        problem: why it shows nothing, in words; empty if it does.
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
        asked: what the answers answer, like `Next token after “time”`; empty where nothing is.
        changed: False if the plan is empty: one value each, nothing to compare with.
    """
    header = {"rows": [dict(row) for row in rows], "asked": asked, "changed": bool(changed)}
    return header, {}
