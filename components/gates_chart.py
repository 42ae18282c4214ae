"""Gates as a picture: tokens down, heads across, a field a layer; a value for components/chart."""

from __future__ import annotations

from collections.abc import Sequence

from numpy import ndarray

from app.texts import _
from components.charts import Spec


def gates_chart(gates: ndarray, tokens: Sequence[str], selected: int) -> Spec:
    """What is open is full, what is closed is empty.

    Args:
        gates: (L, H, N), 0 to 1.
        tokens: N.
        selected: layer whose title is marked, counted from 0.
    """
    panels = [{"title": _("layer {layer}", layer=number + 1), "marked": number == selected,
               "values": layer.round(4).tolist()} for number, layer in enumerate(gates)]
    return {"form": "gates", "unit": _("gate"), "rows": list(tokens), "panels": panels}
