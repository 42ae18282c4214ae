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


def token_losses(before: Trace, after: Trace) -> list[dict[str, Any]]:
    """The text's tokens with the loss of each, as a prediction from what stands before it; None where unknown."""
    shown = [{"token": before.tokens[0], "before": None, "after": None}]
    for position, token in enumerate(before.tokens[1:]):
        old, new = float(before.losses[position]), float(after.losses[position])
        known = old == old
        shown.append({"token": token, "before": old if known else None, "after": new if known else None})
    return shown


def mean_loss(trace: Trace) -> float | None:
    """Mean loss of the text in nats; None where nothing is known of it."""
    return trace.loss if trace.loss == trace.loss else None


def _prediction(lab: Lab, before: Output, after: Output, token: str) -> dict[str, Any]:
    chosen = _digits(lab) if lab.task.name == "assignment" else _likeliest(before, after)
    rows = [{"label": before.names[i], "before": float(before.distribution[i]),
             "after": float(after.distribution[i]), "right": i == before.target} for i in chosen]
    title = f"Answer to {token}" if lab.task.name == "assignment" else "Next token"
    return {"title": title, "rows": rows, "kl": divergence(before, after)}


def _digits(lab: Lab) -> list[int]:
    """All ten answers in their order, so that no row moves."""
    names = lab.task.labels
    return [names.index(str(digit)) for digit in range(DIGITS)]


def _likeliest(before: Output, after: Output) -> list[int]:
    """The tokens with the most probability in either, the likeliest before first."""
    most = numpy.maximum(before.distribution, after.distribution)
    chosen = numpy.argpartition(-most, ROWS)[:ROWS]
    return sorted((int(i) for i in chosen), key=lambda i: -before.distribution[i])
