"""The scatter of heads, in plotly: it tells which points are picked."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
from numpy import ndarray

from components.charts import SERIES

_FORMS = ["circle", "diamond", "square"]


def scatter(x: ndarray, y: ndarray, across: str, up: str, names: Sequence[str], kinds: Sequence[str], chosen: int,
            touched: Sequence[bool]) -> go.Figure:
    """A point a head, a colour and a form a kind; a ring around the selected head, hollow where a plan touches it.

    Args:
        x, y: (heads,).
        across, up: the axes' titles.
        names: of the heads, like `2.5`; kinds: the kind's title of each.
    """
    figure = go.Figure()
    order = list(dict.fromkeys(kinds))
    for number, kind in enumerate(order):
        its = [i for i, name in enumerate(kinds) if name == kind]
        figure.add_trace(go.Scatter(
            x=[float(x[i]) for i in its], y=[float(y[i]) for i in its], mode="markers+text", name=kind, customdata=its,
            text=[names[i] for i in its], textposition="top center", textfont={"size": 11},
            hovertemplate=f"%{{text}}<br>{across} %{{x:.4f}}<br>{up} %{{y:.4f}}<extra></extra>",
            marker={"size": 10, "color": SERIES[number % len(SERIES)], "symbol": [
                _FORMS[number % 3] + ("-open" if touched[i] else "") for i in its],
                "line": {"width": [3 if i == chosen else 1 for i in its]}}))
    figure.update_layout(height=460, margin={"l": 10, "r": 10, "t": 30, "b": 10}, showlegend=len(order) > 1,
                         xaxis_title=across, yaxis_title=up, dragmode="lasso", clickmode="event+select",
                         legend={"orientation": "h", "y": 1.08})
    return figure
