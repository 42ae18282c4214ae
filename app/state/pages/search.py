"""What the section *What it needs* is asked: which heads, for which predictions, and how exactly."""

from __future__ import annotations

from dataclasses import dataclass

FEWEST, GROUPS = WANTED = ("fewest", "groups")
BOUNDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # nats of KL
_WHOLE = "text"


@dataclass(frozen=True)
class Search:
    """See the module's docstring.

    Attributes:
        wanted: the fewest heads that keep the prediction, or the three groups.
        whole: False for the prediction that is shown, True for all that the text has.
        bound: nats of KL that the fewest heads may cost, one of BOUNDS.
    """

    wanted: str = FEWEST
    whole: bool = False
    bound: float = 0.1

    def __str__(self) -> str:
        """`fewest-0.1`, `groups-text-0.1`"""
        return "-".join((self.wanted, *([_WHOLE] if self.whole else []), f"{self.bound:g}"))

    @classmethod
    def parse(cls, text: str) -> Search:
        """The inverse of str(); raises ValueError."""
        known = {str(its): its for wanted in WANTED for whole in (False, True) for bound in BOUNDS
                 for its in (cls(wanted, whole, bound),)}
        if text not in known:
            raise ValueError(f"{text!r} asks for nothing that can be searched")
        return known[text]
