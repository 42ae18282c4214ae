"""HeadsView: the settings of the Heads page (two measures of the scatter plot, their source, a role)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.texts import N_

MEASURES = {"confidence": N_("Confidence"), "relevance": N_("Relevance"), "loss": N_("Loss increase"),
            "open": N_("P(gate open)")}
SOURCES = {"corpus": N_("Over a corpus"), "text": N_("On this text")}
_ROLE = re.compile(r"position [+-]\d{1,3}|(?:nsubj|obj|amod|advmod) (?:up|down)|rare", re.ASCII)


@dataclass(frozen=True)
class HeadsView:
    """The settings of the Heads page: measures on both axes, their source, and a role (empty: all heads)."""

    x: str = "confidence"
    y: str = "loss"
    source: str = "corpus"
    role: str = ""

    def __str__(self) -> str:
        """Returns the link's field: `confidence.loss.corpus`, `relevance.loss.text.nsubj up`."""
        return ".".join((self.x, self.y, self.source, *([self.role] if self.role else [])))

    @classmethod
    def parse(cls, text: str) -> HeadsView:
        """Returns the settings in a link's field; the inverse of str()."""
        x, y, source, *rest = [*text.split(".", 3), "", ""]
        role = rest[0] if rest else ""
        if x not in MEASURES or y not in MEASURES or source not in SOURCES or not is_role(role):
            raise ValueError(f"{text!r} is nothing that the Heads page shows")
        return cls(x, y, source, role)


def is_role(role: str) -> bool:
    """Returns True if a text has the format of a role or is empty."""
    return not role or _ROLE.fullmatch(role) is not None
