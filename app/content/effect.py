"""The content of the effect panel: predictions, KL divergence and losses before and after the plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.content.heads import AnyTrace, usable
from app.texts import _, spelt
from components.effect import Fact, Strip
from models import HeadPlan, Lab, Output
from models.labs.foreign.running.vector_shift import vector_shift
from models.trace import divergence


def content(lab: Lab, plan: HeadPlan, before: AnyTrace, after: AnyTrace) -> dict[str, Any]:
    """Returns the arguments of `components.effect` that depend on the model, the plan and the text.

    Args:
        lab: the model.
        plan: interventions on heads.
        before: the baseline trace.
        after: the trace under the plan.

    Returns:
        The arguments; for a model without predictions, they describe the shift of the output vectors.
    """
    result = {"tokens": token_losses(lab, before, after)} if before.vectors is None else in_vectors(before, after)
    return {"predictions": predictions(lab, before, after), "loss_before": mean_loss(before),
            "loss_after": mean_loss(after), "changed": bool(usable(lab, plan, before.prompt))} | result


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
    """Returns the shift of the output vectors, for a model without predictions.

    Args:
        before: the baseline trace.
        after: the trace under the plan.

    Returns:
        1 - cosine similarity, for each token's vector and for the sentence vector.
    """
    by_token, of_all = vector_shift(before, after)
    tokens = [{"token": token, "before": None, "after": float(value)}
              for token, value in zip(spelt(before.tokens), by_token, strict=True)]
    unit = _("1 − cosine")
    strip: Strip = {"title": _("Change of each token's vector"), "unit": unit, "worse_is_more": False,
                    "what": _("change")}
    fact: Fact = {"name": _("Change of the sentence vector"), "before": None, "after": of_all, "unit": unit}
    return {"tokens": tokens, "strip": strip, "facts": [fact]}


def token_losses(lab: Lab, before: AnyTrace, after: AnyTrace) -> list[dict[str, Any]]:
    """Returns the tokens of the text with their losses without and with the plan.

    Args:
        lab: the model.
        before: the baseline trace.
        after: the trace under the plan.

    Returns:
        One entry per token, with the most probable tokens at its position; a loss is None if unknown. A causal model
        predicts a token from the tokens before it, a masked model from all other tokens.
    """
    shift = 1 if lab.task.predicts_next else 0
    entries = []
    tokens = spelt(lab.task.token_at(before.prompt, place) for place in range(len(before.tokens)))
    for place, token in enumerate(tokens):
        known = place >= shift and before.losses[place - shift] == before.losses[place - shift]
        old, new = ((float(t.losses[place - shift]) if known else None) for t in (before, after))
        entry: dict[str, Any] = {"token": token, "before": old, "after": new}
        if known and after.tops is not None:
            ids, probabilities = (values[place - shift] for values in after.tops)
            entry["top"] = [[label, round(float(probability), 4)] for label, probability in zip(
                spelt(lab.task.labels[i] for i in ids), probabilities, strict=True)]
        entries.append(entry)
    return entries


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
