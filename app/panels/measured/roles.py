"""Roles of heads, measured over a corpus by studies/corpus/heads.py: badges, a filter, and example sentences."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app.markdown import literal
from app.panels.prompt import heads
from app.state import session
from app.state.handlers import head_events
from app.state.lab_state import LabState
from app.texts import N_, _, ngettext
from models import Lab
from models.plan import Address

RELATIONS = {"nsubj up": N_("subject → verb"), "nsubj down": N_("verb → subject"), "obj up": N_("object → verb"),
             "obj down": N_("verb → object"), "amod up": N_("adjective → noun"), "amod down": N_("noun → adjective"),
             "advmod up": N_("adverb → verb"), "advmod down": N_("verb → adverb"), "rare": N_("rarest word")}


COMMON = 0.8  # a role that more than this share of the heads has does not distinguish heads, and is not shown
LOOK_FOR = {
    "nsubj up": N_("Look for the verb from its subject: in “The dog barked”, from “dog” to “barked”."),
    "nsubj down": N_("Look for the subject from its verb: in “The dog barked”, from “barked” to “dog”."),
    "obj up": N_("Look for the verb from its object: in “eats an apple”, from “apple” to “eats”."),
    "obj down": N_("Look for the object from its verb: in “eats an apple”, from “eats” to “apple”."),
    "amod up": N_("Look for the noun from its adjective: in “a red ball”, from “red” to “ball”."),
    "amod down": N_("Look for the adjective from its noun: in “a red ball”, from “ball” to “red”."),
    "advmod up": N_("Look for the verb from its adverb: in “never sleeps”, from “never” to “sleeps”."),
    "advmod down": N_("Look for the adverb from its verb: in “never sleeps”, from “sleeps” to “never”."),
    "rare": N_("Look for one dark column: all queries attend to the rarest word of the text.")}


def shown_roles(lab: Lab, measured: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the roles that at most COMMON of the model's heads have."""
    return [role for role in measured.get("roles", []) if share_of(lab, measured, role["role"]) <= COMMON]


def share_of(lab: Lab, measured: dict[str, Any], role: str) -> float:
    """Returns the share of the model's heads that have a role, 0 to 1. Arguments as in `shown_roles`."""
    heads = {(entry["kind"], entry["layer"], entry["head"]) for entry in measured.get("roles",
                                                                                      []) if entry["role"] == role}
    return len(heads) / sum(kind.layers * kind.heads for kind in lab.kinds)


def look_for(role: str) -> str:
    """Returns a sentence that says how the role appears in an attention map."""
    if role in LOOK_FOR:
        return _(LOOK_FOR[role])
    distance = int(role.partition(" ")[2])
    if distance == 0:
        return _("Look for the main diagonal: every token attends to itself.")
    if distance < 0:
        return ngettext("Look for a diagonal: every token attends to the token before it.",
                        "Look for a diagonal: every token attends to the token {n} places before it.", -distance)
    return ngettext("Look for a diagonal: every token attends to the token after it.",
                    "Look for a diagonal: every token attends to the token {n} places after it.", distance)


def in_words(role: str) -> str:
    """Returns a role in words."""
    if role in RELATIONS:
        return _(RELATIONS[role])
    return _("position {distance}", distance=role.partition(" ")[2])


def short(role: str) -> str:
    """Returns the abbreviation of a role that is displayed below a tile."""
    name, _space, way = role.partition(" ")
    if name == "position":
        return way
    return "R" if name == "rare" else {"nsubj": "S", "obj": "O", "amod": "A", "advmod": "V"}[name] + \
        ("↑" if way == "up" else "↓")


def badges(lab: Lab, measured: dict[str, Any], wanted: str = "") -> dict[Address, tuple[str, str]]:
    """Returns the badges of the heads with a role."""
    by_head: dict[Address, list[str]] = {}
    for role in shown_roles(lab, measured):
        if wanted in ("", role["role"]):
            by_head.setdefault((role["kind"], role["layer"], role["head"]), []).append(role["role"])
    return {address: (" ".join(dict.fromkeys(map(short, entries))), ", ".join(dict.fromkeys(map(in_words, entries))))
            for address, entries in by_head.items()}


def explain_badges(lab: Lab, measured: dict[str, Any], wanted: str = "") -> None:
    """Displays the meaning of the abbreviations below the tiles. Arguments as in `badges`."""
    names = sorted({role["role"] for role in shown_roles(lab, measured) if wanted in ("", role["role"])})
    if names:
        st.caption(_("Below a tile: the roles of the head. {roles}.", roles="; ".join(
            f"{literal(short(name))} {in_words(name)}" for name in names)))


def draw(lab: Lab, measured: dict[str, Any], state: LabState) -> None:
    """Displays a filter by role, and the roles of the selected head with example sentences."""
    roles = shown_roles(lab, measured)
    names = sorted({role["role"] for role in roles}, key=lambda role_name: (role_name.split()[0], role_name))
    if not measured:
        st.caption(_("Roles are measured over a corpus. They were not measured for this model, so this page shows "
                     "only measures of this text."))
        return
    if not roles:
        st.caption(_("No head of this model has a role by the rules below."))
        return
    st.session_state[session.ROLE] = state.heads.role if state.heads.role in names else None
    counts = {name: len({(r["kind"], r["layer"], r["head"]) for r in roles if r["role"] == name}) for name in names}
    st.pills(_("Roles"), names, key=session.ROLE, on_change=head_events.on_heads_view,
             format_func=lambda name: f"{short(name)}  {in_words(name)} ({counts.get(name, 0)})")
    kind, layer, head = heads.selected(lab, state)
    of_head(lab, measured, (kind.name, layer, head))


def of_head(lab: Lab, measured: dict[str, Any], address: Address) -> None:
    """Displays the roles of one head with example sentences, and the rules."""
    if not measured:
        st.caption(_("Roles were not measured for this model."))
        return
    own_roles = [role for role in shown_roles(lab, measured) if (role["kind"], role["layer"], role["head"]) == address]
    st.markdown(_("**Layer {layer}, head {head}**", layer=address[1] + 1, head=address[2] + 1)
                + ("" if own_roles else " " + _("has no role by these rules.")))
    for role in own_roles:
        share = _("{share:.0%} of its largest weights", share=role["share"]) if "baseline" not in role else \
            _("{share:.0%}; the best fixed distance {baseline:.0%}", share=role["share"], baseline=role["baseline"])
        st.markdown(f"- **{in_words(role['role'])}**: {share}. " + look_for(role["role"]) + " "
                    + _("{share:.0%} of this model's heads have this role.",
                        share=share_of(lab, measured, role["role"])))
        for example in role.get("examples", []):
            st.markdown("    " + _marked(example))
    with st.expander(_("What the roles mean")):
        st.markdown(_(RULES))


RULES = N_("A query looks at the token with its largest weight; tokens that are added before and after the text are "
           "ignored. **Position**: at least 90% of the queries look at one distance. **Subject, object, adjective, "
           "adverb**: between two words of a relation in the gold trees of an English treebank, the head finds the "
           "other word at least 10 percentage points more often than the best fixed distance does. **Rarest word**: "
           "at least half of the queries look at the rarest token of the text, and 10 points more than any fixed "
           "distance does. After Voita et al. 2019. If a query sees no later tokens, only pairs in that order are "
           "counted. A role that more than 80% of a model's heads have is not shown.")


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
