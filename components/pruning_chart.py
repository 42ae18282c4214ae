"""The chart of a model under pruning, of the form of those of charts.py: what is lost and saved by the number of heads
that are left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.texts import N_, _
from components.charts import Spec

Curve = Sequence[Sequence[float | None]]  # [heads left, value] or [heads left, value, spread, which may be unknown]

# What can be drawn, and its colour and dashes: orders in which heads go, as models/analysis/pruning_orders.py names
# them; learned gates
# with the weights that were trained on; and what a pass costs.
TRAINED_ON, MULTIPLICATIONS, TIME = "trained on", "multiplications", "seconds"
_SERIES: dict[str, tuple[str, int | str, int]] = {
    "learned": (N_("learned gates"), 2, 0), "alone": (N_("loss when pruned alone"), 0, 0),
    "confidence": (N_("confidence"), 1, 2), "random": (N_("chance"), "faint", 1),
    "text": (N_("loss when pruned alone, on this text"), 3, 1),
    TRAINED_ON: (N_("learned gates, weights trained on"), 4, 3),
    MULTIPLICATIONS: (N_("multiplications"), 5, 1), TIME: (N_("time"), 6, 2)}


def pruning_chart(panels: Sequence[Mapping[str, Any]]) -> Spec:
    """Quantities against the number of heads that are left, a panel each; a place that is chosen is such a number.

    Args:
        panels: title, unit, percent and curves of each: name of a series above -> Curve.
    """
    names = [name for name in _SERIES if any(panel["curves"].get(name) for panel in panels)]
    series = [{"name": _(_SERIES[name][0]), "colour": _SERIES[name][1], "dash": _SERIES[name][2]} for name in names]
    return {"form": "lines", "x": {"title": _("heads left"), "scale": "linear", "shared": True}, "series": series,
            "panels": [{key: its for key, its in panel.items() if key != "curves"} | {"lines": [
                {"series": index, "points": [list(point) for point in panel["curves"][name]]}
                for index, name in enumerate(names) if panel["curves"].get(name)]} for panel in panels],
            "columns": 2, "least": 300, "height": 250, "keyed": True, "chooses": True}
