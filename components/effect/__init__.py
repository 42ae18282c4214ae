"""What a plan does: predictions before and after, their distance, and the loss of each token of the text."""

from __future__ import annotations

from typing import Any

from components.mounting import OnEvent, dispatch, received, register
from components.payload import pack

_mount = register("effect")


def effect(*, key: str, predictions: list[dict[str, Any]], index: int = -1, loss_before: float | None = None,
           loss_after: float | None = None, tokens: list[dict[str, Any]] | None = None, changed: bool = True,
           on_event: OnEvent | None = None) -> None:
    """Draws the panel.

    Args:
        predictions: one a place that is predicted, in the order of the text; the panel shows one at a time.
            Each: title (like `Answer to x=?`), kl (nats, before to after), and rows, at
            most 10: label, before, after (probabilities), right (True marks the right answer).
        index: the prediction to show, counted from 0; one that does not exist shows the last.
        loss_before, loss_after: mean loss of the text in nats, as trained and under the plan; or None.
        tokens: the text's tokens, each with token, before, after: its loss in nats as a prediction from what
            stands before it, None where it has none.
        changed: False if the plan is empty: one bar a row, no comparison.
        on_event: called with {type: prediction, index, sequence} when another prediction is chosen.
    """
    header = {"predictions": predictions, "before": loss_before, "after": loss_after, "tokens": tokens or [],
              "index": index, "changed": bool(changed), "sequence": received(key)}
    _mount(key=key, data=pack(header), on_event_change=dispatch(key, on_event))
