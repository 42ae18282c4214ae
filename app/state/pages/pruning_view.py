"""PruningView: the settings of the Pruning page (pruning order, attention block)."""

from __future__ import annotations

from dataclasses import dataclass

from app.texts import N_
from models.analysis.pruning_orders import ALONE, CONFIDENCE, LEARNED, RANDOM
from models.plan import KINDS

ALL = "all"  # the scope that contains the heads of all attention blocks
TEXT = "text"  # the pruning order by the loss on the input text when each head alone is pruned
BEST = ""  # the first order of ORDERS that is available for the model
ORDERS = {LEARNED: N_("Learned gates"), ALONE: N_("Single-head loss increase"), CONFIDENCE: N_("Confidence"),
          TEXT: N_("Single-head loss increase, on this text"), RANDOM: N_("Random order")}


@dataclass(frozen=True)
class PruningView:
    """The settings of the Pruning page: an order of ORDERS or BEST, and an attention block or ALL."""

    order: str = BEST
    scope: str = ALL

    def __str__(self) -> str:
        """Returns the link's field: `confidence.encoder`."""
        return f"{self.order}.{self.scope}"

    @classmethod
    def parse(cls, text: str) -> PruningView:
        """Returns the settings in a link's field; the inverse of str()."""
        order, _, scope = text.partition(".")
        if order not in (BEST, *ORDERS) or scope not in (ALL, *KINDS):
            raise ValueError(f"{text!r} is no order of heads")
        return cls(order, scope)
