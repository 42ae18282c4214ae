"""Data of line charts: series, points and panels. All charts of one quantity against another use these classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Scale = Literal["linear", "log2", "band"]


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
