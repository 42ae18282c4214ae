"""The table, the description and the top level that every altair chart has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from figures.theme import Theme, config
from models.messages import N_, listed, message

if TYPE_CHECKING:
    from figures.lines import Panel
    from figures.series import Series


class Column(NamedTuple):
    """A column of a chart's table: the field of its datasets, and the heading with the unit."""

    field: str
    title: str


def format_value(value: float | None, percent: bool = False) -> str:
    """Returns a number for a tooltip: four significant digits, or percent with one decimal; with a minus sign."""
    if value is None:
        return "–"
    text = f"{round(100 * value, 1):g}%" if percent else f"{float(f'{value:.4g}'):g}"
    return text.replace("-", "−")


def finished(chart: Any, datasets: Mapping[str, list[dict[str, Any]]], columns: Sequence[Column], title: str,
             about: str, theme: Theme, usermeta: Mapping[str, Any]) -> Any:
    """Returns a chart with datasets, theme, description and the columns of its table.

    Args:
        chart: an altair chart whose data are names of `datasets`.
        datasets: name -> rows; those called rows... are the table.
        columns: of the table.
        title: of the chart.
        about: the chart's values in words, for screen readers.
        theme: see figures.theme.
        usermeta: further values for the component that draws the chart.
    """
    # Attributes, because `properties` validates each value, which takes 70 ms for a theme.
    chart.datasets, chart.description, chart.config = dict(datasets), about, config(theme)
    chart.usermeta = {**usermeta, "title": title, "table": [[column.field, column.title] for column in columns]}
    return chart


def describe(title: str, x: str, series: Sequence[Series], panels: Sequence[Panel]) -> str:
    """Returns a line chart in words: the first and the last value of each line."""
    parts: list[str] = []
    for panel in panels:
        for number, one in enumerate(series):
            points = [point for point in panel.lines if point.series == number]
            if points:
                first, last = min(points, key=lambda its: its.x), max(points, key=lambda its: its.x)
                parts.append(message("{panel}, {series}: {first} at {start}, {last} at {end}",
                                  panel=panel.heading or panel.title, series=one.name,
                                  first=format_value(first.y, panel.percent), start=format_value(first.x),
                                  last=format_value(last.y, panel.percent), end=format_value(last.x)))
    return sentence(title, x, parts)


def sentence(title: str, x: str, parts: Sequence[str]) -> str:
    """Returns the description of a chart: its title, its horizontal axis and its values."""
    values = listed(parts, N_("; "))
    if not x:
        return message("{title}. {values}.", title=title, values=values)
    return message("{title}. Horizontal axis: {x}. {values}.", title=title, x=x, values=values)
