"""What a plan does: predictions before and after, their distance, and the change token by token."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from components.mounting import Content, OnEvent, component


class Strip(TypedDict):
    """What the strip of tokens shows; without one, the change of each token's loss.

    Attributes:
        title: its heading, like `How far each token's vector moved`.
        unit: of the values, like `nats` or `1 − cosine`.
        worse_is_more: True: a higher value is worse, and is called so. False: it is neither, and is called more.
        what: what a value is, for a token's sentence (`“cat”: loss 2.100 → 2.300 nats`).
    """

    title: str
    unit: str
    worse_is_more: bool
    what: NotRequired[str]


class Fact(TypedDict):
    """A line under the prediction: a value as trained and under the plan; None where it is unknown."""

    name: str
    before: float | None
    after: float | None
    unit: str


@component("effect")
def effect(*, key: str, predictions: list[dict[str, Any]], index: int = -1, loss_before: float | None = None,
           loss_after: float | None = None, tokens: list[dict[str, Any]] | None = None, changed: bool = True,
           strip: Strip | None = None, facts: list[Fact] | None = None,
           on_event: OnEvent | None = None) -> Content:
    """Draws the panel.

    Args:
        predictions: one a place that is predicted, in the order of the text; the panel shows one at a time.
            Each: title (like `Answer to x=?`), kl (nats, before to after), and rows, at
            most 10: label, before, after (probabilities), right (True marks the right answer).
        index: the prediction to show, counted from 0; one that does not exist shows the last.
        loss_before, loss_after: mean loss of the text in nats, as trained and under the plan; or None.
        tokens: the text's tokens, each with token, before, after: its value as `strip` says, by default its loss in
            nats as a prediction from what stands before it. after None: it has none. before None: there is nothing
            to compare with, and the value itself is shown.
        changed: False if the plan is empty: one bar a row, no comparison.
        strip: what `tokens` hold, if not losses.
        facts: lines to show in place of KL and loss.
        on_event: called with {type: prediction, index, sequence} when another prediction is chosen.
    """
    header = {"predictions": predictions, "before": loss_before, "after": loss_after, "tokens": tokens or [],
              "index": index, "changed": bool(changed)}
    optional: dict[str, Any] = {"strip": strip, "facts": facts}
    return header | {name: value for name, value in optional.items() if value is not None}, {}
