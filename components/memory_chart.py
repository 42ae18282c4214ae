"""The chart of perplexity against memory, in Altair like those of charts.py."""

from __future__ import annotations

from collections.abc import Sequence

import altair
import pandas

from components.charts import SERIES, lines_of


def memory_chart(table: pandas.DataFrame, order: Sequence[str]) -> altair.Chart:
    """Perplexity against memory, a line for each way to forget.

    Args:
        table: columns line, factor (1, 2, 4, ...: whole memory over what is kept), perplexity, and budgets as text.
        order: the lines' names.
    """
    order = list(order)
    lines = lines_of(table, "factor", "perplexity", "line", order, "whole memory / kept memory", "perplexity",
                     log_x=True)
    legend = altair.Legend(orient="top", columns=2, labelLimit=420)
    return lines.encode(
        color=altair.Color("line:N", sort=order, title=None, legend=legend,
                           scale=altair.Scale(domain=order, range=(SERIES * 4)[:len(order)])),
        tooltip=["line", "factor", altair.Tooltip("perplexity", format=".2f"),
                 altair.Tooltip("budgets", title="tokens that each layer keeps")]).properties(height=420)
