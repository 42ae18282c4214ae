"""Predictions, KL divergence and losses before and after the plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.content.heads import AnyTrace
from app.texts import _, spelt
from models import Lab, Output
from models.labs.foreign.running.vector_shift import vector_shift
from models.trace import divergence


def predictions(lab: Lab, before: AnyTrace, after: AnyTrace) -> list[dict[str, Any]]:
    """Returns the predictions without and with the plan.

    Args:
        lab: the model.
        before: the baseline trace.
        after: the trace under the plan.

    Returns:
        One entry per prediction, in text order: title, rows, KL divergence and losses in nats. The predictions of a
        decoder are teacher-forced on the baseline translation.
    """
    return [_prediction(lab, old, new, before.rows[old.row][old.position])
            for old, new in zip(before.outputs, after.outputs, strict=True)]


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
    """Returns the mean loss of the text.

    Args:
        trace: trace or sketch.

    Returns:
        Nats per token; None if no loss is known.
    """
    return trace.loss if trace.loss == trace.loss else None


def _prediction(lab: Lab, before: Output, after: Output, token: str) -> dict[str, Any]:
    tokens = lab.task.compared_tokens(before, after)
    rows: list[dict[str, Any]] = [
        {"id": int(i), "label": before.names[i], "before": float(before.distribution[i]),
         "after": float(after.distribution[i]), "right": i == before.target} for i in tokens]
    if after is not before:
        for row, *ranks in zip(rows, _ranks(before, tokens), _ranks(after, tokens), strict=True):
            row["ranks"] = ranks
    return {"title": _(lab.task.headline(before, spelt([token])[0])), "rows": rows, "kl": divergence(before, after),
            "known": before.target >= 0}


def _ranks(output: Output, tokens: Sequence[int]) -> list[int]:
    """Returns the ranks of tokens among all tokens, from 1 for the most probable."""
    return (1 + (output.distribution[None] > output.distribution[list(tokens), None]).sum(-1)).tolist()
