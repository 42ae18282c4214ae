"""Predictions by layer: the token predicted from each layer's residual stream at every position (logit lens)."""

from __future__ import annotations

import numpy
from numpy import ndarray

from app import compute
from app.compute import AnyTrace
from app.panels.answer import measures
from app.state.lab_state import LabState
from app.texts import _, spelt
from components.lens import lens
from components.mounting import Part
from models import HeadPlan, Lab, LogitLens


def part(lab: Lab, state: LabState, before: AnyTrace, after: AnyTrace) -> Part:
    """Returns the component: a table of layers and positions.

    Args:
        lab: the model.
        state: the visitor's state.
        before: the baseline trace.
        after: the trace under the plan.
    """
    plan = compute.usable(lab, state.plan, before.prompt)
    try:
        old = measures.lens(lab, before.prompt, HeadPlan())
        new = measures.lens(lab, after.prompt, plan) if plan else None
    except ValueError as error:
        return lens.part(key="layers", message=_(str(error)), model=lab.name)
    tokens = spelt(old.tokens)
    position = compute.shown_output(before.outputs, state.prediction).position
    words, ids = _words(old, new)
    return lens.part(
        key="layers", tokens=[tokens[i] for i in old.positions], words=words, before=(ids[0], old.probabilities),
        after=(ids[1], new.probabilities) if new is not None else None, first=(new or old).first.tolist(),
        at=int(numpy.argmin(abs(old.positions - position))), model=lab.name)


def _words(*lenses: LogitLens | None) -> tuple[list[str], list[ndarray]]:
    """Returns the labels of all shown tokens, and for each lens its tokens as indices of these labels."""
    given = [lens for lens in lenses if lens is not None]
    known: dict[int, str] = {}
    for one in given:
        known |= dict(zip(one.ids.flat, one.labels.flat, strict=True))
    order = {token: place for place, token in enumerate(known)}
    return spelt(known.values()), [numpy.array([order[i] for i in one.ids.flat], numpy.int32).reshape(one.ids.shape)
                                   for one in given]
