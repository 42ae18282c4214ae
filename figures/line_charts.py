"""Line charts: datasets, table and description of series in panels. figures/plots.py builds the plots."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

from figures.lines import Layout, Outline, Panel, Point, Series
from figures.tables import Charted, Column, Parts, format_value, sentence
from figures.theme import SHAPES, Theme
from models.messages import message

MANY = 24  # number of points of a line above which points have no marks


def line_parts(series: Sequence[Series], panels: Sequence[Panel], layout: Layout, title: str,
               theme: Theme = "light") -> Parts:
    """Returns the parts of a chart with lines of several series in one or more panels.

    A click in the legend highlights a series (Shift adds a series). Pointing at a plot shows the values of all series
    at the nearest x.
    """
    if len({one.name for one in series}) < len(series):
        raise ValueError("two series have the same name")
    counts = Counter((index, point.series) for index, panel in enumerate(panels) for point in panel.lines)
    sparse = [all(counts[index, number] <= MANY for index in range(len(panels))) for number in range(len(series))]
    datasets: dict[str, list[dict[str, Any]]] = {}
    outlines = []
    for index, panel in enumerate(panels):
        name = panel.title if len(panels) > 1 else ""
        forms = (("line", panel.lines), ("dot", panel.dots))
        datasets[f"rows{index}"] = [_row(series[point.series], point, form, order, sparse[point.series], name)
                                    for form, points in forms for order, point in enumerate(points)]
        indices, datasets[f"pointed{index}"] = _values_at(panel, len(series))
        outlines.append(Outline(panel.title, panel.percent, tuple(panel.rules), bool(panel.lines), bool(panel.dots),
                                any(point.spread for point in panel.lines), indices,
                                _range(panel.lines) if layout.fits_lines and panel.lines else None))
    key = (tuple(series), tuple(outlines), replace(layout, values=tuple(layout.values)), theme)
    value = panels[0].title if len(panels) == 1 and panels[0].title else message("value")
    columns = [Column("panel", message("panel"))] if len(panels) > 1 else []
    columns += [Column("series", message("series")), Column("x", layout.x), Column("y", value), Column("spread", "±"),
                Column("note", message("note"))]

    def build() -> Any:
        from figures.plots import line_plots  # imports altair

        return line_plots(*key)

    return Parts(key, build, datasets, columns, title, _described(title, layout.x, series, panels), theme,
                 {"columns": layout.columns, "least": layout.least, "chooses": layout.chooses})


@Charted
def line_chart(series: Sequence[Series], panels: Sequence[Panel], layout: Layout, title: str,
               theme: Theme = "light") -> Parts:
    """Returns the chart of `line_parts` as an altair chart."""
    return line_parts(series, panels, layout, title, theme)


def _range(points: Sequence[Point]) -> tuple[float, float]:
    return (min(point.y - (point.spread or 0) for point in points),
            max(point.y + (point.spread or 0) for point in points))


def _row(one: Series, point: Point, form: str, order: int, sparse: bool, panel: str) -> dict[str, Any]:
    row: dict[str, Any] = {"series": one.name, "x": point.x, "y": point.y, "form": form, "note": point.note,
                           "shape": SHAPES[one.dash % len(SHAPES)]}
    if panel:
        row["panel"] = panel
    if form == "line":
        row |= {"marked": one.marked and not one.quiet and sparse, "order": order, "width": 1.5 if one.quiet else 2.5}
    if point.spread:
        row |= {"spread": point.spread, "low": point.y - point.spread, "high": point.y + point.spread}
    return row


def _values_at(panel: Panel, count: int) -> tuple[tuple[int, ...], list[dict[str, Any]]]:
    """Returns the indices of the series with values in a panel, and a row per x with all values as text."""
    at: dict[float, dict[str, str]] = {}
    for point in (*panel.lines, *panel.dots):
        text = format_value(point.y, panel.percent)
        text += f" ± {format_value(point.spread, panel.percent)}" if point.spread else ""
        text += f" ({point.note})" if point.note else ""
        field = f"v{point.series}"
        values = at.setdefault(point.x, {})
        values[field] = f"{values[field]}; {text}" if field in values else text
    indices = tuple(number for number in range(count) if any(f"v{number}" in values for values in at.values()))
    return indices, [{"x": x, **{f"v{number}": "–" for number in indices}, **at[x]} for x in sorted(at)]


def _described(title: str, x: str, series: Sequence[Series], panels: Sequence[Panel]) -> str:
    """Returns the description of a chart: the first and the last value of each line."""
    by_x = attrgetter("x")
    parts: list[str] = []
    for panel in panels:
        for number, one in enumerate(series):
            points = [point for point in panel.lines if point.series == number]
            if points:
                first, last = min(points, key=by_x), max(points, key=by_x)
                parts.append(message("{panel}, {series}: {first} at {start}, {last} at {end}",
                                     panel=panel.title, series=one.name,
                                     first=format_value(first.y, panel.percent), start=format_value(first.x),
                                     last=format_value(last.y, panel.percent), end=format_value(last.x)))
    return sentence(title, x, parts)
