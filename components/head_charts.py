"""The scatter of heads, as a value for components/chart: it tells which points are chosen and picked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy import ndarray

Spec = dict[str, Any]

_KINDS = [(0, 0), (1, 1), (2, 3), (4, 2)]  # colour and form of a kind's points


def scatter(x: ndarray, y: ndarray, across: str, up: str, names: Sequence[str], kinds: Sequence[str], chosen: int,
            touched: Sequence[bool], picked: Sequence[int]) -> Spec:
    """A point a head, a colour and a form a kind; a ring around the selected head, hollow where a plan touches it.

    Args:
        x, y: (heads,).
        across, up: the axes' titles.
        names: of the heads, like `2.5`; kinds: the kind's title of each.
        chosen: the selected head; picked: those that are acted on together.
    """
    order = list(dict.fromkeys(kinds))
    series = [{"name": kind, "colour": colour, "dash": dash}
              for kind, (colour, dash) in zip(order, (_KINDS[i % len(_KINDS)] for i in range(len(order))), strict=True)]
    points = [[round(float(one), 6), round(float(other), 6), order.index(kind), name, bool(its)]
              for one, other, kind, name, its in zip(x, y, kinds, names, touched, strict=True)]
    return {"form": "points", "x": {"title": across}, "y": {"title": up}, "series": series, "points": points,
            "chosen": chosen, "picked": list(picked), "height": 460}
