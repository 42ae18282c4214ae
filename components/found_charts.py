"""Charts of what learned gates found, in Altair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair

from app.texts import _
from components.charts import DASHES, SERIES, cycle

# Told apart by colour-blind eyes and by their first letters, which stand in the squares.
GROUP_COLOURS = ["#0072b2", "#d55e00", "#b5b5c3", "#cc79a7"]


def kept_chart(curves: Mapping[str, Sequence[tuple[int, float]]], chosen: tuple[int, float],
               bound: float, across: str, up: str) -> altair.LayerChart:
    """KL against the number of heads left, a line a way to choose them.

    Args:
        curves: name -> (heads, nats).
        chosen: the answer, which a ring marks.
        bound: nats, which a rule marks.
        across, up: the axes' titles.
    """
    names = list(curves)
    points = [{"heads": heads, "nats": nats, "which": name} for name, its in curves.items() for heads, nats in its]
    x = altair.X("heads:Q", title=across, axis=altair.Axis(tickMinStep=1))
    y = altair.Y("nats:Q", title=up, scale=altair.Scale(type="symlog", constant=max(bound, 1e-3)))
    base = altair.Chart(altair.InlineData(values=points)).encode(
        x=x, y=y, color=altair.Color("which:N", title=None, legend=altair.Legend(orient="top", columns=1),
                                     scale=altair.Scale(domain=names, range=cycle(SERIES, names))))
    lines = base.mark_line(strokeWidth=2.5).encode(strokeDash=altair.StrokeDash(
        "which:N", title=None, scale=altair.Scale(domain=names, range=cycle(DASHES, names))))
    dots = base.mark_point(size=30, filled=True, opacity=1).encode(
        tooltip=["which:N", "heads:Q", altair.Tooltip("nats:Q", format=".4f")])
    rule = altair.Chart(altair.InlineData(values=[{"nats": bound}])).mark_rule(
        strokeDash=[3, 3], color="#8a8aa0", strokeWidth=1.5).encode(y=y)
    ring = altair.Chart(altair.InlineData(values=[{"heads": chosen[0], "nats": chosen[1]}])).mark_point(
        size=180, strokeWidth=2.5, filled=False, color=SERIES[0]).encode(x=x, y=y)
    chart = altair.layer(rule, lines, dots, ring)
    assert isinstance(chart, altair.LayerChart)
    return chart.properties(height=300)


def groups_chart(rows: list[dict], order: Sequence[str], by_kind: bool) -> altair.LayerChart | altair.FacetChart:
    """Each head as a square of its group's colour with the group's first letters, layers down.

    Args:
        rows: with kind, layer, head (from 1), group, kept, removed.
        order: of the groups.
        by_kind: a picture a kind.
    """
    base = altair.Chart(altair.InlineData(values=[row | {"letters": row["group"][:2]} for row in rows])).encode(
        x=altair.X("head:O", title=_("head"), axis=altair.Axis(labelAngle=0)), y=altair.Y("layer:O", title=_("layer")))
    squares = base.mark_rect(stroke="#ffffff", strokeWidth=1).encode(
        color=altair.Color("group:N", title=None, legend=altair.Legend(orient="top", columns=2),
                           scale=altair.Scale(domain=list(order), range=GROUP_COLOURS)),
        tooltip=[altair.Tooltip("kind:N", title=_("attention")), altair.Tooltip("layer:O", title=_("layer")),
                 altair.Tooltip("head:O", title=_("head")), altair.Tooltip("group:N", title=_("group")),
                 altair.Tooltip("kept:Q", title=_("pushed open")), altair.Tooltip("removed:Q", title=_("pushed shut"))])
    letters = base.mark_text(fontSize=11, color="#ffffff").encode(text="letters:N")
    chart = altair.layer(squares, letters)
    assert isinstance(chart, altair.LayerChart)
    chart = chart.properties(width=altair.Step(30), height=altair.Step(24))
    return chart.facet(facet=altair.Facet("kind:N", title=None), columns=3).resolve_scale(
        x="independent", y="independent") if by_kind else chart
