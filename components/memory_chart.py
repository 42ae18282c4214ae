"""The chart of perplexity against memory, in Altair like those of charts.py."""

from __future__ import annotations

from collections.abc import Sequence

import altair
import pandas

from app.texts import _
from components.charts import DASHES, SERIES, cycle


def memory_chart(table: pandas.DataFrame, order: Sequence[str]) -> altair.Chart:
    """Perplexity against memory, a line for each way to forget.

    Args:
        table: columns line, factor (1, 2, 4, ...: whole memory over what is kept), perplexity, and budgets as text.
        order: the lines' names.
    """
    order = list(order)
    factors = sorted(set(table["factor"]))
    return altair.Chart(table).mark_line(strokeWidth=2.5, point=altair.OverlayMarkDef(size=30)).encode(
        x=altair.X("factor:Q", title=_("whole memory / kept memory"), axis=altair.Axis(values=factors),
                   scale=altair.Scale(type="log", base=2, nice=False)),
        y=altair.Y("perplexity:Q", title=_("perplexity"), scale=altair.Scale(zero=False)),
        color=altair.Color("line:N", sort=order, title=None,
                           legend=altair.Legend(orient="top", columns=2, labelLimit=420),
                           scale=altair.Scale(domain=order, range=cycle(SERIES, order))),
        strokeDash=altair.StrokeDash("line:N", sort=order, legend=None,
                                     scale=altair.Scale(domain=order, range=cycle(DASHES, order))),
        tooltip=[altair.Tooltip("line", title=_("way to forget")), altair.Tooltip("factor", title=_("factor")),
                 altair.Tooltip("perplexity", title=_("perplexity"), format=".2f"),
                 altair.Tooltip("budgets", title=_("tokens that each layer keeps"))]).properties(height=420)
