"""The effect of a plan: predictions without and with the plan, their KL divergence, and the change per token."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from components.mounting import Content, OnEvent, component


class Strip(TypedDict):
    """The values that the strip of tokens shows; by default the change in loss per token.

    Attributes:
        title: title of the strip, like `Loss per token`.
        unit: unit of the values, like `nats` or `1 − cosine`.
        worse_is_more: True if a higher value is worse; changes are then called better and worse, else more and less.
        what: name of the quantity, for the sentence about a token (`“cat”: loss 2.100 → 2.300 nats`).
    """

    title: str
    unit: str
    worse_is_more: bool
    what: NotRequired[str]


class Fact(TypedDict):
    """A line under the prediction: a value without (before) and with the plan (after); None if unknown."""

    name: str
    before: float | None
    after: float | None
    unit: str


@component("effect")
def effect(*, key: str, predictions: list[dict[str, Any]], index: int = -1, loss_before: float | None = None,
           loss_after: float | None = None, tokens: list[dict[str, Any]] | None = None, changed: bool = True,
           strip: Strip | None = None, facts: list[Fact] | None = None, model: str = "", sentence: str = "",
           chosen: tuple[int, int] | None = None, hint: str = "",
           on_event: OnEvent | None = None) -> Content:
    """Displays the panel.

    Args:
        key: key of the mount.
        predictions: one per predicted position, in the order of the text; the panel shows one at a time. Each has
            title (like `Answer to x=?`), kl (KL divergence from the unmodified model, nats), known (True if the right
            answer is known), and at most 10 rows for the tokens with the highest probability before or after. A row
            has label, before, after (probabilities), right (True for the right answer), and, under a plan, ranks: the
            token's rank among all tokens, before and after, from 1.
        index: the prediction to show, counted from 0; an index out of range shows the last prediction.
        loss_before: mean loss of the text in nats, of the unmodified model; None if unknown.
        loss_after: mean loss of the text in nats, under the plan; None if unknown.
        tokens: the text's tokens, each with token, before and after. before and after are the token's loss in nats, or
            the value that `strip` describes. after is None if the token has no value; before is None if there is
            nothing to compare with. The optional top has (text, probability) of the most probable tokens at the
            token's position, under the plan.
        changed: False for the empty plan; each row then has one bar and no comparison.
        strip: describes the values in `tokens` if these are not losses.
        facts: lines that replace KL divergence and loss.
        model: title of the model, for downloads.
        sentence: the beginning of the input text, for the downloaded picture.
        chosen: ids of the token whose logit is explained and of the token with which it is compared; a negative id
            means no token. Rows, which then have an id, can be chosen. None if rows cannot be chosen.
        hint: a sentence about the choice of tokens, shown as long as nothing has changed.
        on_event: called with {type: prediction, index, sequence} when another prediction is chosen, and with
            {type: token, token, sequence} when a row is chosen.
    """
    header = {"predictions": predictions, "before": loss_before, "after": loss_after, "tokens": tokens or [],
              "index": index, "changed": bool(changed)}
    optional: dict[str, Any] = {"strip": strip, "facts": facts, "model": model or None, "sentence": sentence or None,
                                "chosen": chosen and list(chosen),
                                "hint": hint or None}
    return header | {name: value for name, value in optional.items() if value is not None}, {}
