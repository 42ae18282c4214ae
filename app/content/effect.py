"""Predictions, KL divergence and losses before and after the plan."""

from collections.abc import Sequence
from typing import Any

from app.content.heads import AnyTrace
from app.texts import _, spelt
from models import Lab, Output
from models.trace import divergence, vector_shift


def prediction(lab: Lab, before: AnyTrace, after: AnyTrace, index: int) -> dict[str, Any]:
    """Returns a prediction without and with the plan: title, rows, and KL divergence in nats.

    The predictions of a decoder are teacher-forced on the baseline translation.
    """
    old, new = before.outputs[index], after.outputs[index]
    tokens = lab.task.compared_tokens(old, new)
    rows: list[dict[str, Any]] = [
        {"id": int(i), "label": old.names[i], "before": float(old.distribution[i]),
         "after": float(new.distribution[i]), "right": i == old.target} for i in tokens]
    if new is not old:
        for row, *ranks in zip(rows, _ranks(old, tokens), _ranks(new, tokens), strict=True):
            row["ranks"] = ranks
    token = before.rows[old.row][old.position]
    return {"title": _(lab.task.headline(old, spelt([token])[0])), "rows": rows, "kl": divergence(old, new)}


def existing_index(outputs: Sequence[Output], index: int) -> int:
    """Returns `index`, or the last prediction's index if there is no such prediction.

    The index in a link stays when the text becomes shorter.
    """
    return index if 0 <= index < len(outputs) else len(outputs) - 1


def shown_output(outputs: Sequence[Output], index: int) -> Output:
    """Returns the prediction that a page shows. Arguments as in `existing_index`."""
    return outputs[existing_index(outputs, index)]


def in_vectors(before: AnyTrace, after: AnyTrace) -> dict[str, Any]:
    """Returns 1 - cosine similarity of the sentence vectors, for a model without predictions."""
    _by_token, of_all = vector_shift(before, after)
    return {"facts": [{"name": _("Change of the sentence vector"), "after": of_all, "unit": _("1 − cosine")}]}


def token_losses(lab: Lab, trace: AnyTrace) -> list[float | None]:
    """Returns the loss of each token of the text in nats; None if it is unknown.

    A causal model predicts a token from the tokens before it, a masked model from all other tokens.
    """
    shift = 1 if lab.task.predicts_next else 0
    losses = [None] * shift + [None if loss != loss else round(float(loss), 4) for loss in trace.losses]
    return losses[:len(trace.tokens)]


def mean_loss(trace: AnyTrace) -> float | None:
    """Returns the mean loss of the text in nats per token; None if no loss is known."""
    return trace.loss if trace.loss == trace.loss else None


def _ranks(output: Output, tokens: Sequence[int]) -> list[int]:
    """Returns the ranks of tokens among all tokens, from 1 for the most probable."""
    return (1 + (output.distribution[None] > output.distribution[list(tokens), None]).sum(-1)).tolist()
