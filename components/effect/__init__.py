"""The effect of a plan: predictions before and after, their KL divergence, and the change per token."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from components.mounting import Content, OnEvent, component


class Strip(TypedDict):
    """The values that the strip of tokens shows; by default the change in loss per token.

    Attributes:
        title: title of the strip, like `Loss per token`.
        unit: unit of the values, like `nats` or `1 − cosine`.
        worse_is_more: True if a higher value is worse; changes are then called better and worse, else more and less.
        what: the quantity, for the sentence about a token (`“cat”: loss 2.100 → 2.300 nats`).
    """

    title: str
    unit: str
    worse_is_more: bool
    what: NotRequired[str]


class Fact(TypedDict):
    """A line under the prediction: a value of the unmodified model and after the plan; None if unknown."""

    name: str
    before: float | None
    after: float | None
    unit: str


@component("effect")
def effect(*, key: str, predictions: list[dict[str, Any]], index: int = -1, loss_before: float | None = None,
           loss_after: float | None = None, tokens: list[dict[str, Any]] | None = None, changed: bool = True,
           strip: Strip | None = None, facts: list[Fact] | None = None, model: str = "", sentence: str = "",
           chosen: tuple[int, int] | None = None,
           on_event: OnEvent | None = None) -> Content:
    """Draws the panel.

    Args:
        key: key of the mount.
        predictions: one per predicted position, in the order of the text; the panel shows one at a time. Each has
            title (like `Answer to x=?`), kl (KL divergence from the unmodified model, nats), known (the right answer
            is known), and at most 10 rows of label, before, after (probabilities) and right (True for the right
            answer): the tokens with the highest probability before or after.
        index: the prediction to show, counted from 0; an index out of range shows the last one.
        loss_before: mean loss of the text in nats, of the unmodified model; None if unknown.
        loss_after: the same after the plan.
        tokens: the text's tokens, each with token, before and after: its loss in nats, or the value that `strip`
            describes. after is None if the token has no value; before is None if there is nothing to compare with. top,
            if it is there, has the most probable tokens in the token's place under the plan, pairs of text and
            probability.
        changed: False for the empty plan: one bar per row, no comparison.
        strip: describes the values in `tokens` if these are not losses.
        facts: lines in place of KL divergence and loss.
        model: title of the model, for downloads.
        sentence: the beginning of the input text, for the picture.
        chosen: ids of the token whose logit is explained and of the one that it is compared with, negative for none:
            rows, which then have an id, can be chosen. None for no choice.
        on_event: called with {type: prediction, index, sequence} when another prediction is chosen, and with
            {type: token, token, sequence} when a row is chosen.
    """
    header = {"predictions": predictions, "before": loss_before, "after": loss_after, "tokens": tokens or [],
              "index": index, "changed": bool(changed)}
    optional: dict[str, Any] = {"strip": strip, "facts": facts, "model": model or None, "sentence": sentence or None,
                                "chosen": chosen and list(chosen)}
    return header | {name: value for name, value in optional.items() if value is not None}, {}
