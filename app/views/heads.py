"""The Heads page: which heads do the work. Measures of every head against each other, over a corpus and on the typed
text; their roles; picking points picks heads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy
import pandas
import streamlit as st
from numpy import ndarray

from app import compute
from app.markdown import literal
from app.panels import frame, heads, measures
from app.panels.text import Reading
from app.state import events, session
from app.state.heads_view import MEASURES, SOURCES
from app.state.lab_state import LabState
from app.texts import N_, _, ngettext
from components import head_charts
from models import Lab
from models.heads import Address
from models.measures import spearman

RELATIONS = {"nsubj up": N_("subject → verb"), "nsubj down": N_("verb → subject"), "obj up": N_("object → verb"),
             "obj down": N_("verb → object"), "amod up": N_("adjective → noun"), "amod down": N_("noun → adjective"),
             "advmod up": N_("adverb → verb"), "advmod down": N_("verb → adverb"), "rare": N_("rarest word")}


def page() -> None:
    frame.under_header(_draw)


def _draw(lab: Lab, reading: Reading, state: LabState) -> None:
    state = state.alone(lab.name)
    before, after = compute.traces_of(lab, reading.prompt, state.plan)
    found = measures.over_a_corpus(lab)
    left, right = st.columns([38, 62], gap="medium")
    with left:
        badges = _badges(lab, found, state)
        heads.grid(lab, state, after, notes=badges)
        _roles(lab, found, state)
    with right:
        source = state.heads.source if found else "text"
        _choose(state, source, bool(found))
        measured = measures.of_corpus(lab, found) if source == "corpus" else measures.of_text(lab, before)
        _scatter(lab, state, measured.values)
        _correlations(lab, measured.values, measures.distances(lab, before) if source == "text" else None)
        _origin(lab, found, source)


# Roles.

def role_in_words(role: str) -> str:
    """A role as people say it."""
    if role in RELATIONS:
        return _(RELATIONS[role])
    return _("position {distance}", distance=role.partition(" ")[2])


def short(role: str) -> str:
    """A role in two or three letters, for a tile's corner."""
    name, _space, way = role.partition(" ")
    if name == "position":
        return way
    return "R" if name == "rare" else {"nsubj": "S", "obj": "O", "amod": "A", "advmod": "V"}[name] + \
        ("↑" if way == "up" else "↓")


def _badges(lab: Lab, found: dict[str, Any], state: LabState) -> dict[Address, str]:
    """Address -> what stands in the tile's corner: its roles, or those of the chosen one."""
    badges: dict[Address, list[str]] = {}
    for role in found.get("roles", []):
        if state.heads.role in ("", role["role"]):
            badges.setdefault((role["kind"], role["layer"], role["head"]), []).append(short(role["role"]))
    return {address: " ".join(dict.fromkeys(its)) for address, its in badges.items()}


def _roles(lab: Lab, found: dict[str, Any], state: LabState) -> None:
    """The filter by role, and the selected head's roles with examples."""
    roles = found.get("roles", [])
    names = sorted({role["role"] for role in roles}, key=lambda its: (its.split()[0], its))
    if not found:
        st.caption(_("Roles are measured over a corpus, which was not done for this model. What this text says of its "
                     "heads is told all the same."))
        return
    if not roles:
        st.caption(_("No head of this model has a role by the rules below."))
        return
    st.session_state[session.ROLE] = state.heads.role if state.heads.role in names else None
    counts = {name: len({(r["kind"], r["layer"], r["head"]) for r in roles if r["role"] == name}) for name in names}
    st.pills(_("Roles"), names, key=session.ROLE, on_change=events.on_heads_view,
             format_func=lambda name: f"{short(name)}  {role_in_words(name)} ({counts.get(name, 0)})")
    kind, layer, head = heads.selected(lab, state)
    its = [role for role in roles if (role["kind"], role["layer"], role["head"]) == (kind.name, layer, head)]
    st.markdown(_("**Layer {layer}, head {head}**", layer=layer + 1, head=head + 1)
                + ("" if its else " " + _("has no role by these rules.")))
    for role in its:
        share = _("{share:.0%} of its looks", share=role["share"]) if "baseline" not in role else \
            _("{share:.0%}; the best fixed distance {baseline:.0%}", share=role["share"], baseline=role["baseline"])
        st.markdown(f"- **{role_in_words(role['role'])}**: {share}")
        for example in role.get("examples", []):
            st.markdown("    " + _marked(example))
    with st.expander(_("What the roles mean")):
        st.markdown(_(RULES))


RULES = N_("A head looks at the token with its largest weight; tokens around the text are left out. **Position**: at "
           "least 90% of its looks go to one distance. **Subject, object, adjective, adverb**: between two words of a "
           "relation in the gold trees of an English treebank, it finds the other word at least 10 points more often "
           "than the best fixed distance does. **Rarest word**: at least half of its looks go to the rarest token of "
           "the text, and 10 points more than any fixed distance finds it. After Voita et al. 2019. Where a query sees "
           "no later token, only pairs in that order count.")


def _marked(example: dict[str, Any]) -> str:
    """A sentence as Markdown: from the underlined word the head looks at the bold one."""
    text, parts, place = example["text"], [], 0
    for (start, stop), mark in sorted(((tuple(example["from"]), ":primary-background[{}]"),
                                       (tuple(example["to"]), "**{}**"))):
        if start < place:
            continue
        parts += [literal(text[place:start]), mark.format(literal(text[start:stop].strip()) or "·")]
        place = stop
    return ":small[" + "".join([*parts, literal(text[place:])]) + "]"


# Measures.

def _choose(state: LabState, source: str, is_measured: bool) -> None:
    st.session_state[session.MEASURE_X] = state.heads.x
    st.session_state[session.MEASURE_Y] = state.heads.y
    st.session_state[session.MEASURED] = source
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.segmented_control(_("Measured"), [*SOURCES] if is_measured else ["text"], key=session.MEASURED,
                             required=True, format_func=lambda its: _(SOURCES[its]), on_change=events.on_heads_view,
                             label_visibility="collapsed")
        for key, label in ((session.MEASURE_X, _("Across")), (session.MEASURE_Y, _("Up"))):
            st.selectbox(label, [*MEASURES], key=key, format_func=lambda its: _(MEASURES[its]), width=250,
                         on_change=events.on_heads_view)


def _scatter(lab: Lab, state: LabState, values: dict[str, ndarray]) -> None:
    """One point a head; picking points picks heads, which then can be acted on together."""
    x, y = state.heads.x, state.heads.y
    missing = [_(MEASURES[name]) for name in dict.fromkeys((x, y)) if name not in values]
    if missing:
        st.info(_("Not known here: {measures}.", measures=", ".join(missing)))
        return
    addresses = [address for kind in lab.kinds for address in kind.addresses]
    titles = {kind.name: _(kind.title) for kind in lab.kinds}
    names = [(f"{titles[kind]} " if len(lab.kinds) > 1 else "") + f"{layer + 1}.{head + 1}"
             for kind, layer, head in addresses]
    at = state.selection
    chart = head_charts.scatter(values[x], values[y], _(MEASURES[x]), _(MEASURES[y]), names,
                                [titles[kind] for kind, _layer, _head in addresses],
                                addresses.index((at.kind, at.layer, at.head)),
                                [bool(address in state.plan.heads) for address in addresses])
    st.plotly_chart(chart, key=session.SCATTER, on_select=lambda: events.on_picked(addresses), theme="streamlit",
                    selection_mode=("points", "box", "lasso"), config={"displaylogo": False})
    picked = events.picked(addresses)
    with st.container(horizontal=True, vertical_alignment="center", height=52, border=False):
        if not picked:
            st.caption(_("Click a point to select its head; draw a box or a lasso to pick several."))
            return
        st.markdown(ngettext("{n} head picked", "{n} heads picked", len(picked)))
        for label, change in ((_("Prune"), {"gate": 0.0}), (_("Constant"), {"constant": True}),
                              (_("Live"), {"constant": False, "gate": 1.0})):
            st.button(label, key=f"picked {sorted(change.items())}", on_click=events.set_heads, args=(picked, change),
                      disabled="constant" in change and bool(change["constant"]) and lab.constant is None)


def _correlations(lab: Lab, values: dict[str, ndarray], distance: ndarray | None) -> None:
    """Rank correlations of all measures, and the values as a file."""
    names = [name for name in MEASURES if name in values]
    if len(names) > 1:
        st.markdown(_("**Rank correlations** of the measures over all {n} heads (Spearman)",
                      n=len(next(iter(values.values())))))
        st.table([{"": _(MEASURES[one]), **{_(MEASURES[other]): _number(spearman(values[one], values[other]))
                                            for other in names}} for one in names])
    table = pandas.DataFrame(rows(lab, values, distance))
    st.download_button(_("Heads as CSV"), table.to_csv(index=False), f"{lab.name}-heads.csv", "text/csv",
                       on_click="ignore", icon=":material/download:")


def rows(lab: Lab, values: dict[str, ndarray], distance: ndarray | None) -> list[dict[str, Any]]:
    """One a head, as a table."""
    addresses: Sequence[Address] = [address for kind in lab.kinds for address in kind.addresses]
    extra = {} if distance is None else {"distance": distance}
    return [{"kind": kind, "layer": layer + 1, "head": head + 1,
             **{name: round(float(its[i]), 5) for name, its in {**values, **extra}.items()}}
            for i, (kind, layer, head) in enumerate(addresses)]


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}"


def _origin(lab: Lab, found: dict[str, Any], source: str) -> None:
    if source == "corpus":
        st.caption(_("Confidence, relevance and roles on {n} sentences of an English treebank; the loss on validation "
                     "texts of the model's task. Measure it again: {command}", n=found["sentences"],
                     command=f"`{found['command']}`"))
    elif not numpy.all([kind.attention.is_distribution for kind in lab.kinds]):
        st.caption(_("Rows of relu² are made to sum to 1 before confidence is taken."))
