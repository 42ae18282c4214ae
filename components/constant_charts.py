"""What the charts of the Constant page show; see components/charts.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.texts import N_, _
from components.charts import Spec, plain

# A way to touch heads -> what it is called, its colour and dashes.
WAYS = {"learned": (N_("constant, in the learned order"), "accent", 0),
        "random": (N_("constant, in a random order"), "ink", 2),
        "removed": (N_("pruned, in the learned order"), "faint", 1)}

Curve = Sequence[tuple[int, float, float]]  # heads touched, a value, its spread


def _series(ways: Sequence[str]) -> list[dict[str, Any]]:
    return [plain(_(title), colour, dash) for title, colour, dash in (WAYS[way] for way in ways)]


def _lines(curves: Mapping[str, Curve], ways: Sequence[str]) -> list[dict[str, Any]]:
    return [{"series": index, "points": [[x, round(y, 5), round(spread, 5) or None] for x, y, spread in curves[way]]}
            for index, way in enumerate(ways) if curves.get(way)]


def _measured(*all_curves: Mapping[str, Curve]) -> list[str]:
    """The ways that have points in one of the panels: of the others the chart says nothing."""
    return [way for way in WAYS if any(curves.get(way) for curves in all_curves)]


def drop_chart(curves: Mapping[str, Curve], title: str, average: float, most: float) -> Spec:
    """The mean relative drop against the number of heads, with the source's two numbers as rules.

    Args:
        curves: way -> its points.
        average, most: the source's, as shares.
    """
    rules: list[dict[str, Any]] = [{"y": average, "label": _("paper: average of all heads constant"), "dashed": True},
                                   {"y": most, "label": _("paper: most"), "dashed": True}]
    ways = _measured(curves)
    panel = {"title": title, "percent": True, "lines": _lines(curves, ways), "rules": rules}
    return {"form": "lines", "x": {"title": _("heads changed"), "scale": "linear"}, "series": _series(ways),
            "panels": [panel], "height": 300, "keyed": True, "chooses": True}


def task_chart(panels: Sequence[tuple[str, str, Mapping[str, Curve]]]) -> Spec:
    """The score of each task, a panel each: title, metric, curves."""
    ways = _measured(*(curves for _title, _unit, curves in panels))
    return {"form": "lines", "x": {"title": _("heads changed"), "scale": "linear"}, "series": _series(ways),
            "panels": [{"title": title, "unit": unit, "lines": _lines(curves, ways)} for title, unit, curves in panels],
            "columns": 3, "least": 250, "height": 190, "keyed": True, "chooses": True}


def loss_chart(points: Sequence[tuple[str, float, float, float, str]],
               styles: Mapping[str, Mapping[str, Any]]) -> Spec:
    """How good models are untouched, and what they lose with all heads constant, with its spread.

    Args:
        points: model or training, whose points a line joins in this order; score; loss; its spread; what is said of it.
        styles: model or training -> colour and dash.
    """
    names = list(dict.fromkeys(name for name, *_rest in points))
    lines = [{"series": index, "points": [[round(x, 4), round(y, 5), round(spread, 5) or None, note]
                                          for name, x, y, spread, note in points if name == its]}
             for index, its in enumerate(names)]
    return {"form": "lines", "x": {"title": _("mean score as trained"), "scale": "linear"},
            "series": [{"name": name, **styles[name]} for name in names],
            "panels": [{"title": _("Lost with all heads constant"), "percent": True, "lines": lines}], "height": 260,
            "zero": True}


def distance_chart(title: str, values: Sequence[Sequence[float]]) -> Spec:
    """Each head as a square: how far its map of this text is from its constant."""
    return {"form": "squares", "unit": _("total variation"), "most": 1.0,
            "panels": [{"title": title, "values": [[round(value, 4) for value in row] for row in values]}]}
