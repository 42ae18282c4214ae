"""A table of several models' results on one text, one row per model, without and with the plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from components.mounting import Content, component


class Answer(TypedDict):
    """The top-1 prediction of a model, unmodified (before) and under the plan (after).

    Attributes:
        before, after: the label of the predicted token.
        p_before, p_after: the probability of this token.
        right_before, right_after: whether the prediction is right; None if unknown.
    """

    before: str
    p_before: float
    right_before: bool | None
    after: str
    p_after: float
    right_after: bool | None


class Row(TypedDict):
    """The results of one model.

    Attributes:
        name: short name of the model.
        line: one plain sentence about the model.
        colour, dash: style of the model's series in charts.
        answer: the top-1 predictions; None if the model predicts nothing.
        loss: loss in nats, unmodified and under the plan; None if unknown.
        kl: KL divergence from the unmodified model in nats; None if unknown.
        kl_from_first: KL divergence from the first model in nats, under the plan; None for the first model, or unknown.
        problem: the reason why the row has no results; empty if it has results.
    """

    name: str
    line: str
    colour: int
    dash: int
    answer: Answer | None
    loss: tuple[float, float] | None
    kl: float | None
    kl_from_first: float | None
    problem: str


@component("comparison")
def comparison(*, key: str, rows: Sequence[Row], heading: str, takeaway: str, changed: bool) -> Content:
    """Displays the table.

    Args:
        key: key of the mount.
        rows: the results, one row per model.
        heading: title of the predictions, like `Next token after “time”`; empty without predictions.
        takeaway: one sentence about the difference between the rows, above the table; empty for none.
        changed: False for the empty plan; each cell then has one value and no comparison.
    """
    header = {"rows": [dict(row) for row in rows], "heading": heading, "takeaway": takeaway, "changed": bool(changed)}
    return header, {}
