"""What a plan does to a prediction: two traces of one text -> what the effect panel shows."""

from __future__ import annotations

from typing import Any

import numpy

from models import Lab, Output, Trace
from models.trace import divergence

ROWS = 8  # next tokens in the panel
DIGITS = 10


def predictions(lab: Lab, before: Trace, after: Trace) -> list[dict[str, Any]]:
    """One entry a prediction, in the order of the text, each with a title, rows, KL and losses (nats)."""
    return [_prediction(lab, old, new, before.tokens[old.position])
            for old, new in zip(before.outputs, after.outputs, strict=True)]


def token_losses(lab: Lab, before: Trace, after: Trace) -> list[dict[str, Any]]:
    """The text's tokens with the loss of each, None where unknown: of a causal model as a prediction from what stands
    before it, of a masked one as a guess from all the rest."""
    shift = 1 if lab.model.config.causal else 0
    shown = []
    for place, token in enumerate(before.tokens):
        known = place >= shift and before.losses[place - shift] == before.losses[place - shift]
        old, new = ((float(t.losses[place - shift]) if known else None) for t in (before, after))
        shown.append({"token": _hidden(lab, before, place) or token, "before": old, "after": new})
    return shown


def mean_loss(trace: Trace) -> float | None:
    """Mean loss of the text in nats; None where nothing is known of it."""
    return trace.loss if trace.loss == trace.loss else None


def _prediction(lab: Lab, before: Output, after: Output, token: str) -> dict[str, Any]:
    chosen = _digits(lab) if lab.task.name == "assignment" else _likeliest(before, after)
    rows = [{"label": before.names[i], "before": float(before.distribution[i]),
             "after": float(after.distribution[i]), "right": i == before.target} for i in chosen]
    title = "Next token"
    if lab.task.name == "assignment":
        title = f"Answer to {token}"
    elif not lab.model.config.causal:
        answer = before.names[before.target] if before.target >= 0 else ""
        title = f"Hidden: {answer.strip()}" if answer else "Hidden token"
    return {"title": title, "rows": rows, "kl": divergence(before, after)}


def _hidden(lab: Lab, trace: Trace, place: int) -> str:
    """The token that is hidden at a place, where it is known; else an empty string."""
    target = trace.prompt.targets[place]
    return trace.outputs[0].names[target] if not lab.model.config.causal and target >= 0 and trace.outputs else ""


def _digits(lab: Lab) -> list[int]:
    """All ten answers in their order, so that no row moves."""
    names = lab.task.labels
    return [names.index(str(digit)) for digit in range(DIGITS)]


def _likeliest(before: Output, after: Output) -> list[int]:
    """The tokens with the most probability in either, the likeliest before first."""
    most = numpy.maximum(before.distribution, after.distribution)
    chosen = numpy.argpartition(-most, ROWS)[:ROWS]
    return sorted((int(i) for i in chosen), key=lambda i: -before.distribution[i])
