"""Disagreement of the heads of a layer, pairwise and averaged, on the input text and over a corpus.

There are three terms (outputs, values, positions; Li et al. 2018). Baseline models are compared with models that were
trained with a disagreement term.
"""

from __future__ import annotations

import math
from typing import Any

import numpy
import streamlit as st

from app.compute import AnyTrace
from app.markdown import plain
from app.panels.choice.card import card_of
from app.panels.choice.labels import model_label
from app.panels.measured.measures import Measured
from app.panels.prompt.heads import selected
from app.server import caches, limits, serving
from app.state import session
from app.state.handlers import head_events
from app.state.lab_state import TERMS, LabState
from app.texts import N_, _
from components.figure import figure, spec_of
from figures.squares import Field, pair_squares
from models import Lab, Trace, catalogue
from models.analysis.head_similarity import Likeness, disagreement_of, of_text, of_trace
from models.labs.foreign import is_foreign
from studies import store

LONG = 256  # number of tokens above which the input text is not evaluated
SENSES = {"out": N_("cosine of the heads' outputs"), "sub": N_("cosine of the heads' values"),
          "pos": N_("overlap of their attention rows")}


def draw(lab: Lab, state: LabState, before: AnyTrace) -> None:
    """Displays the choice of the term, the pairs of heads, and exp(D) of this model and related models."""
    st.markdown(_("**Similarity of heads** (disagreement, Li et al. 2018): 1 if two heads do the same, 0 if they have"
                  " nothing in common"))
    similarities = of_text_of(lab, before)
    if not similarities:
        st.caption(_("Shorten the text to compare all heads on it."))
        return
    terms = [term for term in TERMS if all(term in likeness for likeness in similarities.values())]
    st.session_state[session.TERM] = state.term if state.term in terms else terms[0]
    with st.container(key="disagreement"):
        term = st.segmented_control(_("Compared by"), terms, key=session.TERM,
                                    format_func=lambda likeness: _(TERMS[likeness]),
                                    required=True, on_change=head_events.on_term, label_visibility="collapsed")
    term = term if term in terms else terms[0]
    kind = selected(lab, state)[0]
    similarity_by_model = {lab.name: similarities}
    other = counterpart(lab.name, term)
    if other:  # the compared model gets the same text and the same baseline translation
        similarity_by_model[other] = of_text_of(serving.load(other), before)
    about = _("Pairs of heads on this text: {sense}, mean over tokens. Negative values have the colour of 0.",
              sense=_(SENSES[term]))
    for number, (name, likeness) in enumerate(similarity_by_model.items()):
        if other:
            st.markdown(f"**{plain(model_label(name))}**")
        fields = [Field(_("{kind}, layer {layer}", kind=_(kind.title), layer=layer),
                        numpy.round(values.astype(float), 3).tolist())
                  for layer, values in enumerate(likeness[kind.name][term], 1)]
        title = _("Similarity of heads in {model}", model=model_label(name))
        figure(key=f"disagreement chart {number}", spec=spec_of(pair_squares.spec(fields, _("similarity"), title)),
               about=[about], models=[name], what=f"pairs-{term}", title=title,
               alt=_("Similarity of heads: exp(D) {value:.3f}", value=math.exp(disagreement_of(likeness, term))))
    st.caption(about)
    st.table(rows(lab, similarity_by_model, terms), border="horizontal")
    st.caption(_("exp(D), where −D is the mean over all pairs of heads in a layer and over layers. A higher value "
                 "means that heads differ more; {least:.3f} if all are equal.", least=math.exp(-1)))


def counterpart(name: str, term: str) -> str | None:
    """Returns the model that differs from the given model only in the disagreement term of its training."""
    if is_foreign(name):
        return None
    own = card_of(name)
    wanted = [] if _terms(own) else [term]
    return next((other for other in catalogue.family(name) if _trained_as(card_of(other), own) and
                 _terms(card_of(other)) == wanted), None)


def _terms(card: dict[str, Any]) -> list[str]:
    """Returns the disagreement terms of a model's training."""
    return card["training"].get("disagreement", [])


def _trained_as(card: dict[str, Any], other: dict[str, Any]) -> bool:
    return card["attention"] == other["attention"] and all(
        card["training"][field] == other["training"][field] for field in ("steps", "tokens_per_step"))


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
