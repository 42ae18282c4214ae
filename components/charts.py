"""Charts below the fold, in Altair: they can be saved as PNG and SVG from their own menu."""

from __future__ import annotations

import altair
import numpy
import pandas
from numpy import ndarray

from components.colours import COLOURS

TRAINED, PLANNED = "as trained", "under the plan"
UNIFORM = "ln n"


def entropy_chart(before: ndarray, after: ndarray, selected: int, changed: bool) -> altair.Chart:
    """The entropy of each head of a layer against the number of keys that a query sees, one small chart a head.

    Args:
        before, after: (H, N) nats, as trained and under the plan; query i sees n = i + 1 keys.
        selected: head whose title is marked, counted from 0.
        changed: False hides `after`, which then equals `before`.
    """
    heads, n = before.shape
    series = {UNIFORM: numpy.log(numpy.arange(1, n + 1))[None].repeat(heads, 0), TRAINED: before}
    if changed:
        series[PLANNED] = after
    titles = [f"head {head + 1}" + (" (selected)" if head == selected else "") for head in range(heads)]
    table = pandas.concat([
        pandas.DataFrame({"n": numpy.arange(1, n + 1), "nats": values[head].round(4), "head": titles[head],
                          "which": name})
        for name, values in series.items() for head in range(heads)])
    names = list(series)
    lines = altair.Chart(table).mark_line(strokeWidth=2).encode(
        x=altair.X("n:Q", title="n", scale=altair.Scale(domain=[1, n], nice=False), axis=altair.Axis(tickCount=4)),
        y=altair.Y("nats:Q", title="entropy, nats", axis=altair.Axis(tickCount=4)),
        color=altair.Color("which:N", sort=names, title=None, legend=altair.Legend(orient="top"), scale=altair.Scale(
            domain=names, range=["#b5b5c3", "#8a8aa0", COLOURS["light"]["diverging"][-4]][:len(names)])),
        strokeDash=altair.StrokeDash("which:N", sort=names, legend=None, scale=altair.Scale(
            domain=names, range=[[2, 3], [1, 0], [1, 0]][:len(names)])),
        tooltip=["head", "which", "n", altair.Tooltip("nats", format=".3f")])
    return lines.properties(width=270, height=110).facet(
        facet=altair.Facet("head:N", sort=titles, title=None), columns=4)
