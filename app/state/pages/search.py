"""Search: the settings of the search for minimal heads (kind of result, predictions, bound, intervention)."""

from __future__ import annotations

from dataclasses import dataclass

FEWEST, GROUPS, WINNING = WANTED = ("fewest", "groups", "winning")
BOUNDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # largest KL divergences to choose from, in nats
_WHOLE, _CONSTANT = "text", "constant"


@dataclass(frozen=True)
class Search:
    """The settings of the search for minimal heads."""

    # FEWEST for a minimal set of heads that keeps the prediction, GROUPS for three groups of heads, WINNING for the
    # fewest heads whose removal makes a chosen token the most probable
    wanted: str = FEWEST
    whole: bool = False  # False for the prediction that is shown, True for all predictions of the text
    bound: float = 0.1  # maximum KL divergence of the minimal set in nats, one of BOUNDS
    constant: bool = False  # True if WINNING makes heads constant, False if it prunes them

    def __str__(self) -> str:
        """Returns the link's field: `fewest-0.1`, `groups-text-0.1`, `winning-constant-0.1`."""
        return "-".join((self.wanted, *([_WHOLE] if self.whole else []), *([_CONSTANT] if self.constant else []),
                         f"{self.bound:g}"))

    @classmethod
    def parse(cls, text: str) -> Search:
        """Returns the settings in a link's field; the inverse of str()."""
        known = {str(search): search for wanted in WANTED for whole in (False, True) for bound in BOUNDS
                 for constant in (False, True) for search in (cls(wanted, whole, bound, constant),)}
        if text not in known:
            raise ValueError(f"{text!r} asks for nothing that can be searched")
        return known[text]
