"""Measures of every head of a model on the input text and over a corpus (studies/corpus/heads.py); roles of heads."""

from collections import Counter
from typing import Any

import torch
from numpy import ndarray

from app.compute import AnyTrace
from app.server import caches, limits, serving
from app.texts import N_, _, ngettext
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
Measured = dict[str, ndarray]  # key of MEASURES -> (heads,), in the order of Kind.addresses
RELATIONS = {"nsubj up": N_("subject → verb"), "nsubj down": N_("verb → subject"), "obj up": N_("object → verb"),
             "obj down": N_("verb → object"), "amod up": N_("adjective → noun"), "amod down": N_("noun → adjective"),
             "advmod up": N_("adverb → verb"), "advmod down": N_("verb → adverb"), "rare": N_("rarest word")}
COMMON = 0.8  # a role that more than this share of the heads has does not distinguish heads, and is not shown
LOOK_FOR = {
    "nsubj up": N_("In “The dog barked”, “dog” to “barked”."),
    "nsubj down": N_("In “The dog barked”, “barked” to “dog”."),
    "obj up": N_("In “eats an apple”, “apple” to “eats”."),
    "obj down": N_("In “eats an apple”, “eats” to “apple”."),
    "amod up": N_("In “a red ball”, “red” to “ball”."),
    "amod down": N_("In “a red ball”, “ball” to “red”."),
    "advmod up": N_("In “never sleeps”, “never” to “sleeps”."),
    "advmod down": N_("In “never sleeps”, “sleeps” to “never”."),
    "rare": N_("One dark column: the rarest word.")}


def over_a_corpus(lab: Lab) -> dict[str, Any]:
    """Returns the stored measures of a model."""
    return store.read(lab.name, "heads") or {}


def of_corpus(lab: Lab, stored: dict[str, Any]) -> Measured:
    """Returns the measures over a corpus."""
    kinds = stored.get("kinds", {})
    values = {name: in_one_row(lab.kinds, {kind: by_measure[name] for kind, by_measure in kinds.items()})
              for name in ("confidence", "relevance", "loss")
              if kinds and all(name in kinds[kind.name] for kind in lab.kinds)}
    return values | _learned(lab)


def _learned(lab: Lab) -> Measured:
    """Returns P(open) of the gates learned on all attention blocks, at the strength that leaves about half open."""
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
    return values


def is_quick(lab: Lab, prompt: Prompt) -> bool:
    """Returns True if pruning each head alone takes at most about a second."""
    heads = sum(kind.layers * kind.heads for kind in lab.kinds)
    return heads * len(prompt.ids) * lab.nbytes / 4 < QUICK


def shown_roles(lab: Lab, measured: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the roles that at most COMMON of the model's heads have."""
    roles, heads = measured.get("roles", []), sum(kind.layers * kind.heads for kind in lab.kinds)
    having = Counter(name for name, *_head in {(role["role"], role["kind"], role["layer"], role["head"])
                                               for role in roles})
    return [role for role in roles if having[role["role"]] <= COMMON * heads]


def look_for(role: str) -> str:
    """Returns a sentence that says how the role appears in an attention map."""
    if role in LOOK_FOR:
        return _(LOOK_FOR[role])
    distance = int(role.partition(" ")[2])
    if distance == 0:
        return _("The main diagonal: each token looks at itself.")
    if distance < 0:
        return ngettext("A diagonal: each token looks at the one before it.",
                        "A diagonal: each token looks {n} places back.", -distance)
    return ngettext("A diagonal: each token looks at the one after it.",
                    "A diagonal: each token looks {n} places ahead.", distance)


def in_words(role: str) -> str:
    """Returns a role in words."""
    if role in RELATIONS:
        return _(RELATIONS[role])
    return _("position {distance}", distance=role.partition(" ")[2])
