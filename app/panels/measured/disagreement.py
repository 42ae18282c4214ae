"""Disagreement of the heads of a layer, pairwise and averaged, on the input text and over a corpus.

There are three terms (outputs, values, positions; Li et al. 2018). Baseline models are compared with models that were
trained with a disagreement term.
"""

import math
from typing import Any

from app.compute import AnyTrace
from app.panels.choice.labels import model_label
from app.panels.measured.measures import Measured
from app.server import caches, limits, serving
from app.texts import N_, _
from models import Lab, Trace, catalogue
from models.analysis.head_similarity import Likeness, disagreement_of, of_text, of_trace
from models.labs.foreign import is_foreign
from studies import store

LONG = 256  # number of tokens above which the input text is not evaluated
# the disagreement terms (Li et al. 2018), which measure how heads differ
TERMS = {"out": N_("Outputs"), "sub": N_("Values"), "pos": N_("Positions")}
SENSES = {"out": N_("cosine of the heads' outputs"), "sub": N_("cosine of the heads' values"),
          "pos": N_("overlap of their attention rows")}


def rows(lab: Lab, similarities: dict[str, Likeness], terms: list[str]) -> list[dict[str, str]]:
    """Returns table rows of exp(D) on the input text, and over the corpus for all evaluated models of the family."""
    def row(name: str, values: dict[str, float]) -> dict[str, str]:
        return {"": name, **{_(TERMS[term]): f"{values[term]:.3f}" if term in values else "–" for term in terms}}

    table = [row(_("this text") if name == lab.name else _("{name}, this text", name=model_label(name)),
                 {term: math.exp(disagreement_of(stored, term)) for term in terms}) for name,
             stored in similarities.items()]
    family = [lab.name] if is_foreign(lab.name) else [lab.name, *(
        name for name in catalogue.family(lab.name) if name != lab.name)]
    for name in family:
        stored: dict[str, Any] = store.read_undamaged(name, "disagreement") or {}
        if stored:
            table.append(row(_("{name}, {n} sentences", name=model_label(name), n=stored["sentences"]), stored["mean"]))
    return table


def of_text_of(lab: Lab, before: AnyTrace) -> Likeness:
    """Returns the values on the input text, cached; empty for a text of more than LONG tokens and for a sketch."""
    if not isinstance(before, Trace) or len(before.prompt.ids) > LONG:
        return {}
    key = ("disagreement", lab.identity, before.prompt)
    kept = caches.measured.find(key)
    if kept is None:
        limits.spend(limits.PASSES)
        with serving.computing():
            similarities = of_trace(before) if is_foreign(lab.name) else of_text(lab, before.prompt)
        kept = Measured({f"{kind} {term}": pairs for kind, terms in similarities.items() for term,
                         pairs in terms.items()})
        caches.measured.keep(key, kept)
    result: dict[str, dict[str, Any]] = {}
    for name, values in kept.values.items():
        kind, term = name.split(" ")
        result.setdefault(kind, {})[term] = values
    return result
