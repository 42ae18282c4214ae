"""Measures of every head of a model: over a corpus (studies/corpus/heads.py) and on the input text."""

from dataclasses import dataclass
from typing import Any

import torch
from numpy import ndarray

from app.compute import AnyTrace
from app.server import caches, limits, serving
from app.texts import N_
from models import Lab
from models.analysis.gated_predictions import Gating, Question
from models.analysis.head_measures import confidences, in_one_row
from models.analysis.relevance import applies, shares
from models.prompt import Prompt
from models.trace import Trace
from studies import store

MEASURES = {"confidence": N_("Confidence"), "relevance": N_("Relevance"), "loss": N_("Loss increase"),
            "open": N_("P(gate open)")}
SOURCES = {"corpus": N_("Over a corpus"), "text": N_("On this text")}
# patterns of attention by which heads are found (models/analysis/roles.py)
FINDS = {"previous": N_("Previous token"), "same": N_("Same token elsewhere"),
         "first": N_("First token"), "induction": N_("After the same token (induction)")}
# largest heads x tokens x parameters for which the loss without each head is computed immediately; about a second
QUICK = 12e9


@dataclass(frozen=True, eq=False)
class Measured:
    """Measures of all heads: key of MEASURES -> (heads,), in the order of Kind.addresses."""

    values: dict[str, ndarray]

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.values.values())


def over_a_corpus(lab: Lab) -> dict[str, Any]:
    """Returns the stored measures of a model."""
    return store.read(lab.name, "heads") or {}


def of_corpus(lab: Lab, stored: dict[str, Any]) -> Measured:
    """Returns the measures over a corpus."""
    kinds = stored.get("kinds", {})
    values = {name: in_one_row(lab.kinds, {kind: by_measure[name] for kind, by_measure in kinds.items()})
              for name in ("confidence", "relevance", "loss")
              if kinds and all(name in kinds[kind.name] for kind in lab.kinds)}
    return Measured(values | _learned(lab))


def _learned(lab: Lab) -> dict[str, ndarray]:
    """Returns P(open) of the gates learned by studies/prune_heads.py on all attention blocks together.

    If there are several regularization strengths, the strength that leaves closest to half of the heads is used.
    """
    series = [run for run in (store.read(lab.name, "gates") or {}).get("series", [])
              if set(run["kinds"]) == {kind.name for kind in lab.kinds}]
    half = sum(kind.layers * kind.heads for kind in lab.kinds) / 2
    if not series:
        return {}
    nearest = min(series, key=lambda run: abs(sum(run["heads_left"].values()) - half))
    return {"open": in_one_row(lab.kinds, nearest["probabilities"])}


def of_text(lab: Lab, before: AnyTrace) -> Measured:
    """Returns the measures on the input text, cached; for a large model only those without a further forward pass."""
    return caches.measured.get((lab.identity, before.prompt), lambda: _of_text(lab, before))


def _of_text(lab: Lab, before: AnyTrace) -> Measured:
    values: dict[str, ndarray] = {}
    if isinstance(before, Trace):
        values["confidence"] = in_one_row(lab.kinds, confidences(lab, before))
    if before.outputs and is_quick(lab, before.prompt):
        question = Question.of(before)
        limits.spend(limits.PASSES, sum(kind.layers * kind.heads for kind in lab.kinds))
        with serving.computing():
            gating = Gating.of(lab, before.prompt, question)
            untouched = gating.in_parts(gating.loss, torch.ones(1, len(gating.heads)))
            values["loss"] = (gating.prune_each(gating.loss) - untouched).numpy()
            if applies(lab):
                by_kind = shares(lab, before.prompt, question.positions)
                values["relevance"] = in_one_row(lab.kinds, {name: tensor.numpy() for name, tensor in by_kind.items()})
    return Measured(values)


def is_quick(lab: Lab, prompt: Prompt) -> bool:
    """Returns True if pruning each head alone takes at most about a second."""
    heads = sum(kind.layers * kind.heads for kind in lab.kinds)
    return heads * len(prompt.ids) * lab.nbytes / 4 < QUICK
