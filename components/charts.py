"""What charts show, as values for components/chart: lines in panels, dots in rows, squares of heads.

A spec has `form` (`lines`, `dots`, `squares`, `groups`, `gates` or `points`) and:

    lines    x {title, scale: linear | log2 | band, shared}, series [{name, colour, dash, kind, quiet}], panels [{title,
             unit, percent, marked, lines [{series, points [x, y, spread or None, note]}], rings and seeds [{series,
             x, y, note}], rules [{x or y, label, dashed}]}], columns, least (px of a panel), height (px); and where it
             is so: together (one scale for all panels, which are small), zero (it begins there), bent (like a logarithm
             above this value), keyed (names above), chooses (events)
    dots     x {title}, percent, rows [name], series, points [row, series, value], rule {at, label}
    squares  unit, most, panels [{title, values (L, H), note}]; pairs: rows and columns are heads, values (H, H)
    groups   series [{name, letters, colour}], panels [{title, groups (L, H) numbers of series, told (L, H)}]
    gates    unit, rows [token], panels [{title, marked, values (H, N)}]
    points   x and y {title}, series [{name, colour, dash}], points [[x, y, series, name, hollow]], chosen, picked,
             height

A series has a number for a colour if it is a model's; `ink`, `accent` and `faint` are for anything else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from numpy import ndarray

from app.texts import N_, _

Spec = dict[str, Any]

TRAINED, PLANNED, UNIFORM = N_("as trained"), N_("with your changes"), N_("ln n, the most there can be")

def plain(name: str, colour: str, dash: int = 0) -> dict[str, Any]:
    """Returns a line without marks that belongs to no model."""
    return {"name": name, "colour": colour, "dash": dash, "kind": "plain"}


def entropy_chart(before: ndarray, after: ndarray, changed: bool, causal: bool, selected: int) -> Spec:
    """Returns the entropy of each head of a layer, one small chart per head.

    Args:
        before, after: (H, N) nats, unmodified and under the plan.
        changed: False leaves out `after`, which then equals `before`.
        causal: query i sees n = i + 1 keys; else n is the query's number, and each sees N.
        selected: head whose title is marked, counted from 0.
    """
    heads, n = before.shape
    series = [plain(_(UNIFORM), "faint", 2), plain(_(TRAINED), "ink", 0)]
    rows = [[_most(causal, n, i) for i in range(n)], None, None]
    series += [plain(_(PLANNED), "accent", 0)] if changed else []
    panels = []
    for head in range(heads):
        values = [rows[0], before[head].tolist(), after[head].tolist()][:len(series)]
        panels.append({"title": _("head {head}", head=head + 1), "marked": head == selected,
                       "lines": _numbered(values)})
    return {"form": "lines", "x": {"title": "n", "scale": "linear", "shared": True}, "series": series, "panels": panels,
            "columns": 4, "least": 105, "height": 92, "together": True, "zero": True, "keyed": True}


def row_entropy_chart(models: Sequence[dict[str, Any]], entropies: Sequence[Sequence[float]], causal: bool) -> Spec:
    """Returns the entropy of one head's rows, one line per model, and ln n, its upper bound.

    Args:
        models: name, colour and dash of each line.
        entropies: (N,) nats per model, one per query.
        causal: query i sees i + 1 keys; else all N.
    """
    n = max(map(len, entropies))
    series = [*models, plain(_(UNIFORM), "faint", 2)]
    lines = _numbered([*entropies, [_most(causal, n, i) for i in range(n)]])
    return {"form": "lines", "x": {"title": _("query"), "scale": "linear"}, "series": series, "zero": True,
            "panels": [{"unit": _("entropy, nats"), "lines": lines}], "height": 300}


def _most(causal: bool, n: int, i: int) -> float:
    return math.log(i + 1 if causal else n)


def _numbered(rows: Sequence[Sequence[float]]) -> list[dict[str, Any]]:
    """Returns one line per row, over 1, 2, 3, ..."""
    return [{"series": index, "points": [[i, round(float(value), 4)] for i, value in enumerate(row, 1)]}
            for index, row in enumerate(rows)]


def length_chart(series: Sequence[dict[str, Any]], panels: Sequence[dict[str, Any]], length: int,
                 trained: Sequence[int]) -> Spec:
    """Returns measured quantities against the number of tokens, one panel each; a selected position is a length.

    Args:
        series: name, colour and dash of each line.
        panels: title, unit, percent, lines and rings of each.
        length, trained: tokens, each marked by a rule.
    """
    rules: list[dict[str, Any]] = [{"x": its, "label": _("trained")} for its in trained]
    rules += [{"x": length, "dashed": True, "label": _("shown")}] if length not in trained else []
    return {"form": "lines", "x": {"title": _("tokens"), "scale": "log2", "shared": True}, "series": list(series),
            "panels": [panel | {"rules": rules} for panel in panels], "columns": 2, "least": 380, "height": 230,
            "chooses": True}


def head_chart(panels: Sequence[dict[str, Any]], unit: str) -> Spec:
    """Returns each head as a square of one colour, layers down, one picture per model.

    Args:
        panels: title, and values (L, H) or a note with the reason why there are none.
        unit: of the values.
    """
    most = max((value for panel in panels for row in panel.get("values") or [] for value in row), default=1.0)
    return {"form": "squares", "unit": unit, "most": most, "panels": list(panels)}


def pairs_chart(panels: Sequence[dict[str, Any]], unit: str) -> Spec:
    """Returns pairs of heads as squares of one colour, one picture per layer.

    Args:
        panels: title, and values (H, H), from 0 to 1; values below 0 have the colour of 0.
        unit: of the values.
    """
    return {"form": "squares", "unit": unit, "most": 1.0, "pairs": True, "panels": list(panels)}


_SOURCE = ("accent", 1)  # of dots, the source's
_OURS = [("ink", 0), ("faint", 2), ("ink", 3), ("faint", 5), ("ink", 4), ("faint", 1)]  # and those measured here


def dots_chart(points: Sequence[dict[str, Any]], title: str, rule: tuple[float, str] | None = None,
               percent: bool = False) -> Spec:
    """Values along a line, a row for each name; what they come from by colour and form.

    Args:
        points: with name, value, which; names are looked up here, for they say the colour.
        title: of the values.
        rule: a value that a rule marks, and what it means.
    """
    rows, whiches = _distinct(points, "name"), _distinct(points, "which")
    ours = [which for which in whiches if which != "source"]
    series = []
    for which in whiches:
        colour, dash = _SOURCE if which == "source" else _OURS[min(ours.index(which), len(_OURS) - 1)]
        series.append({"name": _(which), "colour": colour, "dash": dash, "kind": "dots"})
    return {"form": "dots", "x": {"title": _(title)}, "percent": percent, "rows": [_(row) for row in rows],
            "series": series,
            "points": [[rows.index(p["name"]), whiches.index(p["which"]), p["value"]] for p in points],
            "rule": None if rule is None else {"at": rule[0], "label": _(rule[1])}}


def lines_chart(points: Sequence[dict[str, Any]], title: str, across: str, styles: Mapping[str, Mapping[str, Any]],
                rule: tuple[float, str] | None = None, percent: bool = False, scattered: bool = False) -> Spec:
    """Means over seeds as lines, each seed as a ring; names differ in colour and dashes.

    Args:
        points: with name, x, value, seed.
        title, across: of the values and of x, whose values stand at equal distances.
        styles: name -> colour, dash and, for lines without forms, kind.
        rule: a value that a rule marks, and what it means.
        scattered: True for x at its distances.
    """
    names = _distinct(points, "name")
    series, lines, seeds = [], [], []
    for index, name in enumerate(names):
        series.append({"name": _(name), **styles[name]})
        at: dict[float, list[dict[str, Any]]] = {}
        for point in points:
            if point["name"] == name:
                at.setdefault(point["x"], []).append(point)
        lines.append({"series": index, "points": [[x, fmean(p["value"] for p in at[x])] for x in sorted(at)]})
        seeds += [{"series": index, "x": p["x"], "y": p["value"], "note": _("seed {seed}", seed=p["seed"])}
                  for its in at.values() if len(its) > 1 for p in its]
    rules = [] if rule is None else [{"y": rule[0], "label": _(rule[1]), "dashed": True}]
    panel = {"title": _(title), "percent": percent, "lines": lines, "seeds": seeds, "rules": rules}
    return {"form": "lines", "x": {"title": _(across), "scale": "linear" if scattered else "band"}, "series": series,
            "panels": [panel], "height": 320}


def _distinct(points: Sequence[dict[str, Any]], key: str) -> list:
    """Returns the distinct values of a field, in order of appearance."""
    return list(dict.fromkeys(point[key] for point in points))

