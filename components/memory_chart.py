"""The chart of perplexity against memory, of the form of those of charts.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.texts import _
from components.charts import Spec


def memory_chart(rows: Sequence[dict[str, Any]]) -> Spec:
    """Perplexity against memory, a line for each way to forget.

    Args:
        rows: line, style, factor (1, 2, 4, ...: whole memory over what is kept), perplexity, and budgets as text;
            together by line.
    """
    names = list(dict.fromkeys(row["line"] for row in rows))
    series, lines = [], []
    for index, name in enumerate(names):
        its = [row for row in rows if row["line"] == name]
        series.append({"name": name, **its[0]["style"]})
        lines.append({"series": index, "points": [
            [row["factor"], row["perplexity"], None, _("budgets {budgets}", budgets=row["budgets"])] for row in its]})
    return {"form": "lines", "x": {"title": _("whole memory / kept memory"), "scale": "log2"}, "series": series,
            "panels": [{"unit": _("perplexity"), "lines": lines}], "height": 380}
