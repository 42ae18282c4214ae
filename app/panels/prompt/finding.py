"""Finds the heads that have a chosen attention pattern on the input text. A found head shows its score on its tile."""

from __future__ import annotations

from typing import Any

import numpy

from app import compute
from app.compute import AnyTrace
from app.state.lab_state import FINDS, LabState
from app.texts import _
from models import Lab
from models.analysis.patterns import pattern_scores
from models.plan import Address

LEAST = 0.4  # smallest mean weight on the pattern for a found head

Notes = dict[Address, tuple[str, str]]


def search(lab: Lab, state: LabState, trace: AnyTrace) -> tuple[Notes, dict[str, Any]]:
    """Returns the heads that have the pattern `state.find`.

    Args:
        lab: the model.
        state: the visitor's state.
        trace: trace or sketch under the plan.

    Returns:
        Head -> (its score, the score in words); and the content of the choice above the grids.

    Raises:
        LimitError: the visitor is over the limit of passes; a sketch needs one pass per layer.
    """
    offered = [[key, _(title)] for key, title in FINDS.items()]
    if not state.find:
        return {}, {"find": "", "offered": offered, "result": ""}
    notes: Notes = {}
    for kind in lab.kinds:
        if kind.query_row == kind.key_row:
            maps = (compute.layer_of(lab, trace, state.plan, kind.name, layer).weights for layer in range(kind.layers))
            scores = numpy.concatenate([pattern_scores(state.find, one[None], trace.rows[kind.query_row], kind.causal)
                                        for one in maps])
            for layer, head in zip(*numpy.nonzero(numpy.nan_to_num(scores) >= LEAST), strict=True):
                share = f"{scores[layer, head]:.0%}"
                notes[kind.name, int(layer), int(head)] = share, _("{share} of its weight: {pattern}", share=share,
                                                                   pattern=_(FINDS[state.find]))
    result = _("{n} heads with at least {least} of their weight there", n=len(notes), least=f"{LEAST:.0%}")
    return notes, {"find": state.find, "offered": offered, "result": result}
