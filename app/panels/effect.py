"""What a plan does: two traces of one text -> predictions, distances and losses, before and after."""

from __future__ import annotations

from typing import Any

from app.state import events
from app.state.lab_state import LabState
from components import effect
from models import Lab, Output, Trace
from models.trace import divergence


def draw(lab: Lab, state: LabState, before: Trace, after: Trace, key: str = "effect") -> None:
    """The panel."""
    effect(key=key, predictions=predictions(lab, before, after), index=state.asked, loss_before=mean_loss(before),
           loss_after=mean_loss(after), tokens=token_losses(lab, before, after), changed=bool(state.plan),
           on_event=events.on_effect)


def predictions(lab: Lab, before: Trace, after: Trace) -> list[dict[str, Any]]:
    """One entry a prediction, in the order of the text, each with a title, rows, KL and losses (nats)."""
    return [_prediction(lab, old, new, before.tokens[old.position])
            for old, new in zip(before.outputs, after.outputs, strict=True)]


def token_losses(lab: Lab, before: Trace, after: Trace) -> list[dict[str, Any]]:
    """The text's tokens with the loss of each, None where unknown: of a model that predicts the next token as a
    prediction from what stands before it, of one that guesses hidden ones as a guess from all the rest."""
    shift = 1 if lab.task.predicts_next else 0
    shown = []
    for place in range(len(before.tokens)):
        known = place >= shift and before.losses[place - shift] == before.losses[place - shift]
        old, new = ((float(t.losses[place - shift]) if known else None) for t in (before, after))
        shown.append({"token": lab.task.token_at(before.prompt, place), "before": old, "after": new})
    return shown


def mean_loss(trace: Trace) -> float | None:
    """Mean loss of the text in nats; None where nothing is known of it."""
    return trace.loss if trace.loss == trace.loss else None


def _prediction(lab: Lab, before: Output, after: Output, token: str) -> dict[str, Any]:
    rows = [{"label": before.names[i], "before": float(before.distribution[i]),
             "after": float(after.distribution[i]), "right": i == before.target}
            for i in lab.task.shown(before, after)]
    return {"title": lab.task.headline(before, token), "rows": rows, "kl": divergence(before, after)}
