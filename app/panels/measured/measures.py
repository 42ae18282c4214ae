"""What is known of every head of a model: measured over a corpus (models/studies/corpus/heads.py), and on the typed
text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy
import torch
from numpy import ndarray

from app.compute import Seen
from app.server import caches, limits, serving
from models import Lab
from models.analysis.gated_predictions import Gating, Question
from models.analysis.head_measures import confidences, in_one_row, text_of_rows
from models.analysis.relevance import applies, shares
from models.analysis.roles import Looks
from models.prompt import Prompt
from models.studies import store
from models.trace import Trace

QUICK = 12e9  # heads x tokens x parameters of a model and a text that are measured at once: a second


@dataclass(frozen=True, eq=False)
class Measured:
    """Values of all heads, in the order of Kind.addresses: name of a measure, as in HeadsView, -> (heads,)."""

    values: dict[str, ndarray]

    @property
    def nbytes(self) -> int:
        return sum(its.nbytes for its in self.values.values())


def over_a_corpus(lab: Lab) -> dict[str, Any]:
    """NAME.heads.json; empty if nothing is measured of this model."""
    return store.read(lab.name, "heads") or {}


def of_corpus(lab: Lab, found: dict[str, Any]) -> Measured:
    """The measures of a corpus."""
    kinds = found.get("kinds", {})
    values = {name: in_one_row(lab.kinds, {kind: its[name] for kind, its in kinds.items()})
              for name in ("confidence", "relevance", "loss")
              if kinds and all(name in kinds[kind.name] for kind in lab.kinds)}
    return Measured(values | _learned(lab))


def _learned(lab: Lab) -> dict[str, ndarray]:
    """P(open) of the gates that models/training/prune_heads.py learned with all kinds together, at the strength that
    left nearest to half of the heads."""
    series = [run for run in (store.read(lab.name, "gates") or {}).get("series", [])
              if set(run["kinds"]) == {kind.name for kind in lab.kinds}]
    half = sum(kind.layers * kind.heads for kind in lab.kinds) / 2
    if not series:
        return {}
    nearest = min(series, key=lambda run: abs(sum(run["heads_left"].values()) - half))
    return {"open": in_one_row(lab.kinds, nearest["probabilities"])}


def of_text(lab: Lab, before: Seen) -> Measured:
    """The measures on one text, remembered; where the model is large, those that need no further pass."""
    key = (lab.identity, before.prompt)
    found = caches.measured.find(key)
    if found is None:
        found = _of_text(lab, before)
        if found.values:  # nothing is found again as fast
            caches.measured.keep(key, found)
    return found


def _of_text(lab: Lab, before: Seen) -> Measured:
    values: dict[str, ndarray] = {}
    if isinstance(before, Trace):
        values["confidence"] = in_one_row(lab.kinds, confidences(lab, before))
    if before.outputs and is_quick(lab, before.prompt):
        question = Question.of(before)
        limits.spend(limits.PASSES, sum(kind.layers * kind.heads for kind in lab.kinds))
        with serving.computing():
            gating = Gating.of(lab, before.prompt, question)
            untouched = gating.in_parts(gating.loss, torch.ones(1, len(gating.heads)))
            values["loss"] = (gating.alone(gating.loss) - untouched).numpy()
            if applies(lab):
                by_kind = shares(lab, before.prompt, question.places)
                values["relevance"] = in_one_row(lab.kinds, {name: its.numpy() for name, its in by_kind.items()})
    return Measured(values)


def is_quick(lab: Lab, prompt: Prompt) -> bool:
    """True if each head can be pruned by itself between two clicks."""
    heads = sum(kind.layers * kind.heads for kind in lab.kinds)
    return heads * len(prompt.ids) * lab.nbytes / 4 < QUICK


def distances(lab: Lab, before: Seen) -> ndarray | None:
    """(heads,) the distance at which most of a head's largest weights stand, on this text."""
    if not isinstance(before, Trace):
        return None
    text = text_of_rows(lab, before)
    found = {}
    for kind in lab.kinds:
        looks = Looks(kind)
        looks.add(before.weights[kind.name], text[kind.query_row], text[kind.key_row])
        found[kind.name] = looks.positional()[0]
    return in_one_row(lab.kinds, found).astype(numpy.int64)
