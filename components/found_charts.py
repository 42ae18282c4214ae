"""Charts of what learned gates found, as values for components/chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.texts import N_, _
from components.charts import Spec

_WAYS = [("accent", 0), (1, 1), (2, 2), (3, 3)]  # colours and dashes: the learned gates first, then simpler orders
_GROUPS = [0, 1, "faint", 3]  # colours of groups, in their order


def kept_chart(curves: Mapping[str, Sequence[tuple[int, float]]], chosen: tuple[int, float], bound: float) -> Spec:
    """KL against the number of heads left, a line a way to choose them; small and large KL both have room.

    Args:
        curves: name -> (heads, nats); the learned gates first.
        chosen: the answer, which a ring marks.
        bound: nats, which a rule marks.
    """
    series, lines = [], []
    for index, (name, points) in enumerate(curves.items()):
        colour, dash = _WAYS[index % len(_WAYS)]
        series.append({"name": name, "colour": colour, "dash": dash, "kind": "line"})
        lines.append({"series": index, "points": [[heads, round(nats, 5)] for heads, nats in sorted(points)]})
    panel = {"unit": _("KL, nats"), "lines": lines,
             "rings": [{"series": 0, "x": chosen[0], "y": chosen[1], "note": _("the answer")}],
             "rules": [{"y": bound, "label": _("at most {bound:g}", bound=bound), "dashed": True}]}
    return {"form": "lines", "x": {"title": _("heads left"), "scale": "linear"}, "series": series, "panels": [panel],
            "height": 300, "zero": True, "keyed": True, "bent": max(bound, 1e-3)}


def groups_chart(rows: Sequence[Mapping], order: Sequence[str], by_kind: bool) -> Spec:
    """Each head as a square of its group's colour with the group's first letters, layers down.

    Args:
        rows: with kind, layer, head (from 1), group, kept, removed; layer by layer within a kind.
        order: of the groups.
        by_kind: a picture a kind.
    """
    series = [{"name": name, "letters": name[:2], "colour": colour}
              for name, colour in zip(order, _GROUPS, strict=True)]
    panels = []
    for kind in dict.fromkeys(row["kind"] for row in rows):
        layers: dict[int, list[Mapping]] = {}
        for row in rows:
            if row["kind"] == kind:
                layers.setdefault(row["layer"], []).append(row)
        panels.append({"title": kind if by_kind else "",
                       "groups": [[order.index(row["group"]) for row in its] for its in layers.values()],
                       "told": [[_(_TOLD, **row) for row in its] for its in layers.values()]})
    return {"form": "groups", "series": series, "panels": panels}


_TOLD = N_("layer {layer}, head {head}: {group}; pushed open {kept}, pushed shut {removed}")
