"""And in longer texts? The loss on held-out texts by their length, for each inference scale of the model."""

from __future__ import annotations

from app.lab.tool import Tool
from app.lab.view import View
from app.texts import N_, _
from components.mounting import Content
from studies import store

SCALES = {"trained": N_("as trained"), "sqrt": N_("1/√d"), "logn": N_("log n"), "fixed": N_("n = trained length"),
          "length": N_("n = length")}
LOSS, ACCURACY = "loss", "accuracy"


def content(view: View, tool: Tool) -> Content:
    """Returns the measured curves."""
    stored = store.read(view.lab.name, "length")
    if stored is None:
        raise ValueError(N_("Longer texts were not measured for this model."))
    first = next(iter(stored["readings"].values()))
    quantity = LOSS if any(LOSS in values for values in first.values()) else ACCURACY
    curves = [{"key": scale, "label": _(SCALES[scale]),
               "points": sorted([int(n), values[quantity]] for n, values in by_length.items() if quantity in values)}
              for scale, by_length in stored["readings"].items()]
    return {"quantity": quantity, "curves": [curve for curve in curves if curve["points"]],
            "trained": view.lab.trained_length, "now": len(view.after.tokens),
            "loss": view.after.loss if view.after.loss == view.after.loss else None}, {}


TOOLS = [Tool("all.length", N_("And in longer texts?"), N_("length curves"), content,
              fits=lambda view: bool(view.lab.card) and store.read_undamaged(view.lab.name, "length") is not None)]
