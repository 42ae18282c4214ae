"""Roles of heads, measured over a corpus by models/studies/corpus/heads.py: badges, a filter, and example sentences."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app.markdown import literal
from app.panels.prompt import heads
from app.state import session
from app.state.handlers import head_events
from app.state.lab_state import LabState
from app.texts import N_, _
from models import Lab
from models.plan import Address

RELATIONS = {"nsubj up": N_("subject → verb"), "nsubj down": N_("verb → subject"), "obj up": N_("object → verb"),
             "obj down": N_("verb → object"), "amod up": N_("adjective → noun"), "amod down": N_("noun → adjective"),
             "advmod up": N_("adverb → verb"), "advmod down": N_("verb → adverb"), "rare": N_("rarest word")}


def in_words(role: str) -> str:
    """Returns a role in words.

    Args:
        role: a role of models/analysis/roles.py.

    Returns:
        Words in the visitor's language.
    """
    if role in RELATIONS:
        return _(RELATIONS[role])
    return _("position {distance}", distance=role.partition(" ")[2])


def short(role: str) -> str:
    """Returns an abbreviation of two or three letters for the corner of a tile.

    Args:
        role: a role of models/analysis/roles.py.

    Returns:
        The abbreviation.
    """
    name, _space, way = role.partition(" ")
    if name == "position":
        return way
    return "R" if name == "rare" else {"nsubj": "S", "obj": "O", "amod": "A", "advmod": "V"}[name] + \
        ("↑" if way == "up" else "↓")


def badges(found: dict[str, Any], wanted: str = "") -> dict[Address, tuple[str, str]]:
    """Returns the badges of the heads with a role.

    Args:
        found: content of NAME.heads.json.
        wanted: the only role to show; empty for all roles.

    Returns:
        Address -> (abbreviations, roles in words).
    """
    shown: dict[Address, list[str]] = {}
    for role in found.get("roles", []):
        if wanted in ("", role["role"]):
            shown.setdefault((role["kind"], role["layer"], role["head"]), []).append(role["role"])
    return {address: (" ".join(dict.fromkeys(map(short, its))), ", ".join(dict.fromkeys(map(in_words, its))))
            for address, its in shown.items()}


def draw(lab: Lab, found: dict[str, Any], state: LabState) -> None:
    """Displays a filter by role, and the roles of the selected head with example sentences.

    Args:
        lab: the model.
        found: content of NAME.heads.json.
        state: the visitor's state.
    """
    roles = found.get("roles", [])
    names = sorted({role["role"] for role in roles}, key=lambda its: (its.split()[0], its))
    if not found:
        st.caption(_("Roles are measured over a corpus. That was not done for this model, so this page shows measures"
                     " of this text only."))
        return
    if not roles:
        st.caption(_("No head of this model has a role by the rules below."))
        return
    st.session_state[session.ROLE] = state.heads.role if state.heads.role in names else None
    counts = {name: len({(r["kind"], r["layer"], r["head"]) for r in roles if r["role"] == name}) for name in names}
    st.pills(_("Roles"), names, key=session.ROLE, on_change=head_events.on_heads_view,
             format_func=lambda name: f"{short(name)}  {in_words(name)} ({counts.get(name, 0)})")
    kind, layer, head = heads.selected(lab, state)
    its = [role for role in roles if (role["kind"], role["layer"], role["head"]) == (kind.name, layer, head)]
    st.markdown(_("**Layer {layer}, head {head}**", layer=layer + 1, head=head + 1)
                + ("" if its else " " + _("has no role by these rules.")))
    for role in its:
        share = _("{share:.0%} of its largest weights", share=role["share"]) if "baseline" not in role else \
            _("{share:.0%}; the best fixed distance {baseline:.0%}", share=role["share"], baseline=role["baseline"])
        st.markdown(f"- **{in_words(role['role'])}**: {share}")
        for example in role.get("examples", []):
            st.markdown("    " + _marked(example))
    with st.expander(_("What the roles mean")):
        st.markdown(_(RULES))


RULES = N_("A query looks at the token with its largest weight; tokens around the text do not count. **Position**: at"
           " least 90% of the queries look at one distance. **Subject, object, adjective, adverb**: between two words"
           " of a relation in the gold trees of an English treebank, the head finds the other word at least 10 "
           "percentage points more often than the best fixed distance does. **Rarest word**: at least half of the "
           "queries look at the rarest token of the text, and 10 points more than any fixed distance does. After "
           "Voita et al. 2019. If a query sees no later token, only pairs in that order count.")


def _marked(example: dict[str, Any]) -> str:
    """Returns a sentence as Markdown: the underlined word is the query, the bold word is its most attended key."""
    text, parts, place = example["text"], [], 0
    for (start, stop), mark in sorted(((tuple(example["from"]), ":primary-background[{}]"),
                                       (tuple(example["to"]), "**{}**"))):
        if start < place:
            continue
        parts += [literal(text[place:start]), mark.format(literal(text[start:stop].strip()) or "·")]
        place = stop
    return ":small[" + "".join([*parts, literal(text[place:])]) + "]"
