"""Data of line charts: series, points and panels, and what all altair charts share: data table, description, cache.

All charts of one quantity against another use these classes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, NamedTuple, ParamSpec

from figures.theme import Theme, config
from models.messages import N_, listed, message

Scale = Literal["linear", "log2", "band"]
_frames: dict[Hashable, dict[str, Any]] = {}
MOST_FRAMES = 256
P = ParamSpec("P")


@dataclass(frozen=True)
class Series:
    """One series of a chart.

    Attributes:
        name: name in the legend and the tooltips; distinct within a chart.
        colour: index of a model's colour, or a role of figures.theme.
        dash: index of the dash pattern and of the shape of the points, so that colour is never the only difference.
        marked: True if the points have marks.
        quiet: True for a thin line, with which other lines are compared.
    """

    name: str
    colour: int | str = "ink"
    dash: int = 0
    marked: bool = True
    quiet: bool = False

    @classmethod
    def of_style(cls, name: str, style: Mapping[str, Any], quiet: bool = False) -> Series:
        """Returns a series with a style of studies.series.style."""
        return cls(name, style["colour"], style["dash"], style.get("kind") != "plain", quiet)


@dataclass(frozen=True)
class Point:
    """One value of a series.

    Attributes:
        series: index of the series.
        x, y: the values, in the units of the axes.
        spread: half the length of the error bar, in the unit of y; None for no bar.
        note: text that is shown with the value, like "seed 2".
    """

    series: int
    x: float
    y: float
    spread: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Rule:
    """A reference line: vertical at `x`, or horizontal at `y`.

    Attributes:
        label: text at the line.
    """

    label: str
    x: float | None = None
    y: float | None = None


@dataclass(frozen=True)
class Panel:
    """One plot.

    Attributes:
        title: title of the vertical axis, with the unit.
        lines: points that a line joins, in this order within each series.
        dots: single values with small marks, such as the values of single seeds.
        rules: reference lines.
        percent: True for fractions, which are shown in percent.
    """

    title: str
    lines: Sequence[Point] = ()
    dots: Sequence[Point] = ()
    rules: Sequence[Rule] = ()
    percent: bool = False


@dataclass(frozen=True)
class Outline:
    """A panel without its points: everything that the structure of the plot depends on."""

    # title, percent, rules: see Panel
    title: str
    percent: bool
    rules: tuple[Rule, ...]
    # lines, dots: True if there are such points
    lines: bool
    dots: bool
    spread: bool  # True if there are error bars
    with_values: tuple[int, ...]  # indices of the series with values
    # smallest and largest value of the lines with their error bars; None if the axis shows all marks
    domain: tuple[float, float] | None = None


@dataclass(frozen=True)
class Layout:
    """The layout of the panels.

    Attributes:
        x: title of the horizontal axes.
        scale: scale of x; `band` has equal distances between values.
        columns: the largest number of panels in a row.
        width, height: size of one panel in px; the app fits the width to the page.
        least: smallest width of a panel in px, in the app.
        fits_lines: True if the vertical axes show the range of the lines.
        chooses: True to mark a position. The parameter `at` moves the position, and a click on a value selects it.
        at: the marked position.
        values: ticks of x; empty for automatic ticks.
    """

    x: str
    scale: Scale = "linear"
    columns: int = 1
    width: int = 600
    height: int = 240
    least: int = 320
    fits_lines: bool = False
    chooses: bool = False
    at: float | None = None
    values: Sequence[float] = field(default_factory=tuple)


class Column(NamedTuple):
    """A column of a chart's table: a field of the datasets, and the heading with the unit."""

    field: str
    title: str


def format_value(value: float | None, percent: bool = False) -> str:
    """Returns a number for a tooltip: four significant digits, or percent with one decimal; with a minus sign."""
    if value is None:
        return "–"
    text = f"{round(100 * value, 1):g}%" if percent else f"{float(f'{value:.4g}'):g}"
    return text.replace("-", "−")


@dataclass(frozen=True, eq=False)
class Parts:
    """A chart before altair builds it. The app caches the result of altair, because building takes 20 to 400 ms."""

    key: Hashable  # everything that `build` depends on; hashable
    build: Callable[[], Any]  # returns an altair chart whose data are names of `datasets`
    datasets: dict[str, list[dict[str, Any]]]  # name -> rows; the datasets whose names begin with `rows` are the table
    columns: Sequence[Column]  # columns of the table
    title: str  # title of the chart
    about: str  # the chart's values in words, for screen readers
    theme: Theme  # see figures.theme
    usermeta: dict[str, Any]  # further values for the component that draws the chart

    def chart(self) -> Any:
        chart = self.build()
        # These are set as attributes, because `properties` validates each value, which takes 70 ms for a theme.
        chart.datasets, chart.description, chart.config = self.datasets, self.about, config(self.theme)
        chart.usermeta = self._usermeta()
        return chart

    def spec(self) -> dict[str, Any]:
        """Returns the Vega-Lite specification without its config; `build` is called once per key."""
        frame = _frames.get(self.key)
        if frame is None:
            if len(_frames) >= MOST_FRAMES:
                _frames.clear()
            frame = _frames[self.key] = self.build().to_dict(validate=False)
        # The datasets in the frame are the labels of reference lines.
        return {**frame, "datasets": {**frame.get("datasets", {}), **self.datasets}, "description": self.about,
                "usermeta": self._usermeta(), "config": {}}

    def _usermeta(self) -> dict[str, Any]:
        return {**self.usermeta, "title": self.title,
                "table": [[column.field, column.title] for column in self.columns]}


class Charted(Generic[P]):
    """A function that returns an altair chart. The method `spec` returns the Vega-Lite specification faster."""

    def __init__(self, parts: Callable[P, Parts]) -> None:
        self._parts = parts
        functools.update_wrapper(self, parts)

    def __call__(self, *args: P.args, **named: P.kwargs) -> Any:
        return self._parts(*args, **named).chart()

    def spec(self, *args: P.args, **named: P.kwargs) -> dict[str, Any]:
        """Returns the specification of the same chart, see Parts.spec."""
        return self._parts(*args, **named).spec()


def sentence(title: str, x: str, parts: Sequence[str]) -> str:
    """Returns the description of a chart: its title, its horizontal axis and its values."""
    values = listed(parts, N_("; "))
    if not x:
        return message("{title}. {values}.", title=title, values=values)
    return message("{title}. Horizontal axis: {x}. {values}.", title=title, x=x, values=values)
