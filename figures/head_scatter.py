"""Scatter plots with one point per head: by plotly to select heads, and by altair for files and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from figures.tables import Column, Parts, charted, format_value, sentence
from figures.theme import SHAPES, Theme, colour, plotly_layout
from models.messages import message

# plotly's names of figures.theme.SHAPES
_SYMBOLS = {"triangle-up": "triangle-up", "triangle-down": "triangle-down", "circle": "circle", "diamond": "diamond",
            "square": "square", "cross": "x"}
_PLAIN = {"marker": {"opacity": 1}}  # plotly does not dim unselected points; rings mark the selected points
_PICKED, _SELECTED = "#7471d8", "#82828c"  # colours of rings; contrast of 3 or more on light and dark ground
_LABEL = 0.055, 0.05  # width and height of a name, as shares of the plot
# plotly's name of a place of the selected head's name -> its distance from the mark, as shares of the plot
_PLACES = {"top center": (0.0, 0.065), "bottom center": (0.0, -0.065), "middle right": (0.055, 0.0),
           "middle left": (-0.055, 0.0)}


@dataclass(frozen=True)
class HeadPoint:
    """One point of the chart: a head.

    Attributes:
        name: name of the head, like `2.5`, with the attention block if there are several blocks.
        group: name of the head's layer, with the attention block if there are several blocks; an entry of the legend.
        x, y: values of the two measures.
        modified: True if a plan modifies the head; the mark is then hollow.
    """

    name: str
    group: str
    x: float
    y: float
    modified: bool = False


def head_scatter(points: Sequence[HeadPoint], across: str, up: str, selected: int, picked: Sequence[int] = (),
                 theme: Theme | None = "light") -> Any:
    """Returns one measure of every head against another, as a plotly figure with zoom, box and lasso.

    The value `customdata` of a mark is the index in `points`; rings and names have no `customdata`. The selected head
    and heads that are apart have their name beside the mark; the tooltip names every head.

    Args:
        points: the heads; layers differ in colour and shape.
        across, up: titles of the axes, with units.
        selected: index of the selected head, which a ring marks.
        picked: indices of the picked heads, which can be changed together; a thin ring marks each of them.
        theme: see figures.theme; None if the page defines the colours of text and layers.
    """
    import plotly.graph_objects as go

    figure = go.Figure()
    for number, group in enumerate(_groups(points)):
        indices = [i for i, point in enumerate(points) if point.group == group]
        symbol = _SYMBOLS[SHAPES[number % len(SHAPES)]]
        # Values are formatted text, as in all tooltips, and never plotly's own markup.
        figure.add_scatter(
            x=[points[i].x for i in indices], y=[points[i].y for i in indices], name=group, mode="markers",
            customdata=indices, text=[_tip(points[i], across, up) for i in indices],
            hovertemplate="%{text}<extra></extra>",
            marker={"size": 10, "opacity": 1, "line": {"width": 1.5},
                    "symbol": [f"{symbol}-open" if points[i].modified else symbol for i in indices]},
            selected=_PLAIN, unselected=_PLAIN)
    named = _named(points, selected)
    # the selected head's name is bold and outside its ring
    figure.add_scatter(x=[points[i].x for i in named], y=[points[i].y for i in named], mode="markers+text",
                       text=[f"<b>{points[i].name}</b>" if i == selected else points[i].name for i in named],
                       textposition=[*named.values()],
                       textfont={"size": [13 if i == selected else 11 for i in named]}, hoverinfo="skip",
                       showlegend=False, cliponaxis=False,
                       marker={"size": [26 if i == selected else 16 for i in named], "opacity": 0},
                       selected={"marker": {"opacity": 0}}, unselected={"marker": {"opacity": 0}})
    for which, size, ring in ((list(picked), 17, _PICKED), ([selected], 23, _SELECTED)):
        figure.add_scatter(x=[points[i].x for i in which], y=[points[i].y for i in which], mode="markers",
                           hoverinfo="skip", showlegend=False, selected=_PLAIN, unselected=_PLAIN, marker={
                               "symbol": "circle-open", "size": size, "opacity": 1, "color": ring,
                               "line": {"width": 2}})
    figure.update_layout(
        height=416, margin={"l": 64, "r": 12, "t": 44, "b": 52}, hovermode="closest",
        xaxis={"title": {"text": across}, "zeroline": False, "range": _range([point.x for point in points])},
        yaxis={"title": {"text": up}, "zeroline": False, "range": _range([point.y for point in points])},
        legend={"orientation": "h", "y": -0.16, "yanchor": "top", "x": 0})
    if theme is not None:
        figure.update_layout(plotly_layout(theme))
    return figure


@charted
def head_points(points: Sequence[HeadPoint], across: str, up: str, selected: int, title: str,
                theme: Theme = "light") -> Parts:
    """Returns the chart of `head_scatter` without controls, as an altair chart for files and for the table.

    Args:
        points, across, up, selected, theme: see `head_scatter`.
        title: title of the chart.
    """
    groups = tuple(_groups(points))
    rows = [{"name": point.name, "group": point.group, "x": point.x, "y": point.y,
             "state": message("modified") if point.modified else "",
             "selected": index == selected} for index, point in enumerate(points)]

    def build() -> Any:
        import altair as alt

        legend = alt.Legend(title=None)
        base = alt.Chart(alt.NamedData(name="rows0")).encode(
            x=alt.X("x:Q", title=across, scale=alt.Scale(zero=False)),
            y=alt.Y("y:Q", title=up, scale=alt.Scale(zero=False)))
        colours = alt.Color("group:N", legend=legend, scale=alt.Scale(
            domain=list(groups), range=[colour(number, theme) for number in range(len(groups))]))
        shapes = alt.Shape("group:N", legend=legend, scale=alt.Scale(
            domain=list(groups), range=[SHAPES[number % len(SHAPES)] for number in range(len(groups))]))
        tips = [alt.Tooltip("name:N", title=message("head")), alt.Tooltip("x:Q", title=across),
                alt.Tooltip("y:Q", title=up)]
        marks = base.mark_point(size=70, strokeWidth=1.5).encode(
            color=colours, shape=shapes, tooltip=tips,
            fill=alt.condition("datum.state", alt.value("transparent"), colours))
        ring = base.transform_filter("datum.selected").mark_point(
            shape="circle", size=280, strokeWidth=2, color=colour("ink", theme))
        return alt.layer(marks, ring).properties(width=600, height=380)

    parts = [message("{name}: {x}, {y}", name=point.name, x=format_value(point.x), y=format_value(point.y))
             for point in points]
    columns = [Column("name", message("head")), Column("x", across), Column("y", up),
               Column("state", message("state"))]
    return Parts(("heads", groups, across, up, theme), build, {"rows0": rows}, columns, title,
                 sentence(title, "", parts), theme, {"columns": 1, "least": 300})


def _groups(points: Sequence[HeadPoint]) -> list[str]:
    return list(dict.fromkeys(point.group for point in points))


def _range(values: Sequence[float]) -> list[float]:
    """Returns the smallest and the largest value with a margin, so that rings do not change the range of the axis."""
    known = [value for value in values if value == value]
    if not known:
        return [0.0, 1.0]
    margin = 0.06 * (max(known) - min(known)) or 1.0
    return [min(known) - margin, max(known) + margin]


def _named(points: Sequence[HeadPoint], selected: int) -> dict[int, str]:
    """Returns index -> place of the name, for the selected point and the points with room for their name.

    The selected point comes first, and its name is at the place of _PLACES where it covers the fewest marks. The other
    names are above their marks; those far from the middle come first.
    """
    ranges = [_range([point.x for point in points]), _range([point.y for point in points])]
    at = [tuple((value - low) / (high - low) for value, (low, high) in zip((point.x, point.y), ranges, strict=True))
          for point in points]
    known = [i for i, (x, y) in enumerate(at) if x == x and y == y]
    taken: list[tuple[float, float]] = []  # centres of the names
    found: dict[int, str] = {}

    def covered(x: float, y: float, own: int) -> int:
        near = [at[j] for j in known if j != own] + taken
        return sum(abs(x - other) <= _LABEL[0] and abs(y - height) <= _LABEL[1] for other, height in near)

    if selected in known:
        x, y = at[selected]
        place = min(_PLACES, key=lambda name: covered(x + _PLACES[name][0], y + _PLACES[name][1], selected))
        taken.append((x + _PLACES[place][0], y + _PLACES[place][1]))
        found[selected] = place
    for i in sorted(known, key=lambda i: -abs(at[i][0] - 0.5) - abs(at[i][1] - 0.5)):
        x, y = at[i][0], at[i][1] + _LABEL[1]
        if i != selected and not covered(x, y, i):
            taken.append((x, y))
            found[i] = "top center"
    return found


def _tip(point: HeadPoint, across: str, up: str) -> str:
    lines = [f"<b>{point.name}</b>", f"{across}: {format_value(point.x)}", f"{up}: {format_value(point.y)}"]
    return "<br>".join([*lines, message("modified")] if point.modified else lines)
