"""Charts below the fold, in Altair: they can be saved as PNG and SVG from their own menu."""

from __future__ import annotations

import altair
import pandas
from numpy import ndarray

from components.colours import COLOURS


def entropy_chart(before: ndarray, after: ndarray, head: int, changed: bool) -> altair.Chart:
    """Each head's entropy against the number of visible keys, one layer.

    Args:
        before, after: (H, N) nats, as trained and under the plan; query i sees n = i + 1 keys.
        head: the selected one, drawn strong; the others are its background.
        changed: False hides `after`, which equals `before`.
    """
    series = {"as trained": before} | ({"under the plan": after} if changed else {})
    heads, n = before.shape
    table = pandas.concat([
        pandas.DataFrame({"n": range(1, n + 1), "nats": values[h], "head": h + 1, "which": which})
        for which, values in series.items() for h in range(heads)])
    uniform = pandas.DataFrame({"n": range(1, n + 1)})
    axis_x = altair.X("n:Q", title="n, keys that the query sees", scale=altair.Scale(domain=[1, n], nice=False))
    axis_y = altair.Y("nats:Q", title="entropy of the weights, nats")
    others = altair.Chart(table[table["head"] != head + 1]).mark_line(opacity=0.25, strokeWidth=1).encode(
        x=axis_x, y=axis_y, detail=["head:N", "which:N"], color=_colour(series),
        tooltip=["head", "which", "n", altair.Tooltip("nats", format=".3f")])
    chosen = altair.Chart(table[table["head"] == head + 1]).mark_line(strokeWidth=3).encode(
        x=axis_x, y=axis_y, color=_colour(series), strokeDash=altair.StrokeDash("which:N", legend=None),
        tooltip=["head", "which", "n", altair.Tooltip("nats", format=".3f")])
    bound = altair.Chart(uniform).transform_calculate(nats="log(datum.n)").mark_line(
        color="gray", strokeDash=[2, 3]).encode(x=axis_x, y=axis_y)
    return (bound + others + chosen).properties(height=300)


def _colour(series: dict[str, ndarray]) -> altair.Color:
    return altair.Color("which:N", sort=list(series), title=None,
                        scale=altair.Scale(domain=list(series), range=["#8a8aa0", COLOURS["light"]["accent"]][:len(series)]),
                        legend=altair.Legend(orient="top"))
