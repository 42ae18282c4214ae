"""Roles of heads, measured over a corpus by studies/corpus/heads.py: badges, a filter, and example sentences."""

from typing import Any

from app.texts import N_, _, ngettext
from models import Lab

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
