"""What the Pruning page shows: in which order heads go, and which heads may."""

from __future__ import annotations

from dataclasses import dataclass

from app.texts import N_
from models.analysis.pruning_orders import ALONE, CONFIDENCE, LEARNED, RANDOM
from models.plan import KINDS

ALL = "all"  # heads of all kinds; else the name of a kind
TEXT = "text"  # by the loss on the typed text when each is pruned alone
BEST = ""  # the first of ORDERS that there is
ORDERS = {LEARNED: N_("Learned gates"), ALONE: N_("Loss when pruned alone"), CONFIDENCE: N_("Confidence"),
          TEXT: N_("Loss when pruned alone, on this text"), RANDOM: N_("Random order")}


@dataclass(frozen=True)
class PruningView:
    """See the module's docstring.

    Attributes:
        order: one of ORDERS, or BEST.
        scope: ALL, or a kind's name.
    """

    order: str = BEST
    scope: str = ALL

    def __str__(self) -> str:
        """`confidence.encoder`"""
        return f"{self.order}.{self.scope}"

    @classmethod
    def parse(cls, text: str) -> PruningView:
        """The inverse of str(); raises ValueError."""
        order, _, scope = text.partition(".")
        if order not in (BEST, *ORDERS) or scope not in (ALL, *KINDS):
            raise ValueError(f"{text!r} is no order of heads")
        return cls(order, scope)
