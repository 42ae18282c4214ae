"""Line charts in one or several panels, of which all charts of one quantity against another are made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from figures.series import Series
from figures.tables import Column, describe, finished, format_value
from figures.theme import DASHES, SHAPES, Theme, colour
from models.messages import message

if TYPE_CHECKING:
    import altair as alt

MANY = 24  # number of points of a line above which they are not marked
Scale = Literal["linear", "log2", "symlog", "band"]


@dataclass(frozen=True)
class Point:
    """One value of a series.

    Attributes:
        series: index of the series.
        x, y: the values, in the units of the axes.
        spread: half the length of the error bar, in the unit of y; None for no bar.
        note: shown with the value, like "seed 2".
    """

    series: int
    x: float
    y: float
    spread: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Rule:
    """A reference line: at `x` a vertical one, at `y` a horizontal one.

    Attributes:
        label: shown at the line.
        dashed: True for a dashed line.
    """

    label: str
    x: float | None = None
    y: float | None = None
    dashed: bool = True


@dataclass(frozen=True)
class Panel:
    """One plot.

    Attributes:
        title: of its vertical axis, with the unit; the title of the plot if `heading` is True.
        lines: points that a line joins, in this order within each series.
        rings: single values with large hollow marks, such as the typed text.
        dots: single values with small marks, such as each seed.
        rules: reference lines.
        percent: True for shares, which are shown in percent.
        heading: a heading above the plot, for small multiples.
        note: shown in place of the plot's values if there are none.
    """

    title: str
    lines: Sequence[Point] = ()
    rings: Sequence[Point] = ()
    dots: Sequence[Point] = ()
    rules: Sequence[Rule] = ()
    percent: bool = False
    heading: str = ""


@dataclass(frozen=True)
class Layout:
    """The layout of the panels.

    Attributes:
        x: title of the horizontal axes.
        scale: of x; a band has equal distances between its values.
        y_scale: of y; symlog is linear up to `bend` and logarithmic above.
        bend: constant of symlog.
        zero: True starts the vertical axis at 0.
        together: True gives all panels one vertical scale.
        columns: the largest number of panels in a row.
        width, height: px of one panel; the app sets the width to the page's.
        least: px, the smallest width of a panel in the app.
        chooses: True marks a position, which the parameter `at` moves; a click on a value chooses it.
        at: the marked position.
        values: ticks of x; empty for automatic ticks.
    """

    x: str
    scale: Scale = "linear"
    y_scale: Literal["linear", "symlog", "log"] = "linear"
    bend: float = 1.0
    zero: bool = False
    together: bool = False
    columns: int = 1
    width: int = 600
    height: int = 240
    least: int = 320
    chooses: bool = False
    at: float | None = None
    values: Sequence[float] = field(default_factory=tuple)


def line_chart(series: Sequence[Series], panels: Sequence[Panel], layout: Layout, title: str,
               theme: Theme = "light") -> alt.TopLevelMixin:
    """Returns lines of several series in one or more panels.

    The legend toggles series (shift adds one). Pointing at a plot shows the values of all series at the nearest x.

    Args:
        series: of the chart; Point.series counts them.
        panels: the plots; all have the same horizontal axis.
        layout: see Layout.
        title: of the chart, for its description.
        theme: see figures.theme.

    Returns:
        An altair chart with a dataset per panel, `rows0`, `rows1`, ..., and its description.

    Raises:
        ValueError: two series have the same name.
    """
    import altair as alt

    if len({one.name for one in series}) < len(series):
        raise ValueError("two series have the same name")
    drawing = _Drawing(series, panels, layout, theme)
    plots = [drawing.plot(index, panel) for index, panel in enumerate(panels)]
    chart: Any = plots[0] if len(plots) == 1 else alt.concat(*plots, columns=layout.columns, spacing={"row": 14})
    if layout.together and len(plots) > 1:
        chart = chart.resolve_scale(y="shared")
    if layout.chooses:
        chart = chart.add_params(alt.param(name="at", value=layout.at))
    columns = [Column("series", message("series")), Column("x", layout.x), Column("y", message("value")),
               Column("spread", "±"), Column("note", message("note"))]
    if len(panels) > 1:
        columns.insert(0, Column("panel", message("panel")))
    if len(panels) == 1:
        columns = [Column(its.field, panels[0].title if its.field == "y" and panels[0].title else its.title)
                   for its in columns]
    return finished(chart, drawing.datasets, columns, title=title, about=describe(title, layout.x, series, panels),
                    theme=theme, usermeta={"columns": layout.columns, "least": layout.least,
                                           "chooses": layout.chooses})


class _Drawing:
    """Makes the plots of one chart and collects their datasets."""

    def __init__(self, series: Sequence[Series], panels: Sequence[Panel], layout: Layout, theme: Theme) -> None:
        import altair as alt

        self.series, self.panels, self.layout = series, panels, layout
        self.datasets: dict[str, list[dict[str, Any]]] = {}
        names = [one.name for one in series]
        legend = alt.Legend(title=None, symbolType="stroke", symbolSize=700) if len(series) > 1 else None
        kind: Literal["ordinal", "quantitative"] = "ordinal" if layout.scale == "band" else "quantitative"
        self.kind = kind
        scales = {"log2": alt.Scale(type="log", base=2, nice=False), "linear": alt.Scale(zero=False, nice=False,
                                                                                         padding=8)}
        axis = alt.Axis(values=list(layout.values)) if layout.values else alt.Axis(
            labelAngle=0) if layout.scale == "band" else alt.Axis(tickCount=8)
        self.x = alt.X("x", type=kind, title=layout.x, scale=scales.get(layout.scale, alt.Undefined), axis=axis)
        scale = alt.Scale(domain=names, range=[colour(one.colour, theme) for one in series])
        self.colour = alt.Color("series:N", legend=legend, scale=scale)
        self.dash = alt.StrokeDash("series:N", legend=legend, scale=alt.Scale(
            domain=names, range=[DASHES[one.dash % len(DASHES)] for one in series]))
        # no scale: each row has its shape, so that the legend shows lines and not shapes
        self.shape = alt.Shape("shape:N", scale=None)
        self.width = alt.StrokeWidth("width:Q", scale=None)
        self.picked = alt.selection_point(name="picked", fields=["series"], bind="legend")
        self.opacity = alt.condition(self.picked, alt.value(1), alt.value(0.12))
        lengths = Counter((index, point.series) for index, panel in enumerate(panels) for point in panel.lines)
        self.sparse = [max((n for (_, its), n in lengths.items() if its == number), default=0) <= MANY
                       for number in range(len(series))]

    def plot(self, index: int, panel: Panel) -> Any:
        """Returns a panel as layers: rules, error bars, lines, points, the marked position, and the values at the
        pointer.
        """
        import altair as alt

        name = f"rows{index}"
        self.datasets[name] = [self._row(index, point, form) for form, points in (
            ("line", panel.lines), ("dot", panel.dots), ("ring", panel.rings)) for point in points]
        base = alt.Chart(alt.NamedData(name=name)).encode(x=self.x, y=self._y(panel), color=self.colour)
        forms = {form for form, points in (("line", panel.lines), ("dot", panel.dots), ("ring", panel.rings)) if points}
        layers: list[Any] = [*self._rules(panel)]
        if any(point.spread for point in panel.lines):
            layers.append(base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=1.5).encode(
                y=alt.Y("low:Q"), y2="high:Q", opacity=self.opacity))
        if "line" in forms:
            # The legend belongs to the lines; a series with one point has no line, so its point is always drawn.
            layers.append(base.transform_filter("datum.form == 'line'").mark_line(clip=True).encode(
                strokeDash=self.dash, strokeWidth=self.width, opacity=self.opacity,
                order=alt.Order("order:Q")).add_params(self.picked))
            layers.append(base.transform_filter("datum.form == 'line' && datum.marked").mark_point(
                filled=True, size=46, opacity=1).encode(shape=self.shape, opacity=self.opacity))
        if "dot" in forms:
            layers.append(base.transform_filter("datum.form == 'dot'").mark_point(size=34, strokeWidth=1.2).encode(
                shape=self.shape, opacity=self.opacity))
        if "ring" in forms:
            layers.append(base.transform_filter("datum.form == 'ring'").mark_point(
                size=150, strokeWidth=2.5, clip=True, shape="circle").encode(opacity=self.opacity))
        if self.layout.chooses:
            layers.append(base.transform_filter("datum.form == 'line' && datum.x == at").mark_point(
                filled=True, size=110).encode(opacity=self.opacity))
            layers.append(alt.Chart(alt.InlineData(values=[{}])).mark_rule(
                style="position", strokeWidth=1.5).encode(x=alt.XDatum(alt.expr("at"), type="quantitative")))
        layers.append(self._pointed(index, panel))
        chart = alt.layer(*layers).properties(width=self.layout.width, height=self.layout.height)
        if panel.heading:
            chart = chart.properties(title=alt.Title(panel.heading, fontSize=13))
        return chart

    def _row(self, index: int, point: Point, form: str) -> dict[str, Any]:
        one = self.series[point.series]
        row: dict[str, Any] = {"series": one.name, "x": point.x, "y": point.y, "form": form, "note": point.note,
                               "shape": SHAPES[one.dash % len(SHAPES)]}
        if len(self.panels) > 1:
            row["panel"] = self.panels[index].heading or self.panels[index].title
        if form == "line":
            row |= {"marked": one.marked and not one.quiet and self.sparse[point.series], "order": point.x,
                    "width": 1.5 if one.quiet else 2.5}
        if point.spread:
            row |= {"spread": point.spread, "low": point.y - point.spread, "high": point.y + point.spread}
        return row

    def _y(self, panel: Panel) -> alt.Y:
        import altair as alt

        layout = self.layout
        scale = alt.Scale(zero=layout.zero, nice=True) if layout.y_scale == "linear" else alt.Scale(
            type="log") if layout.y_scale == "log" else alt.Scale(type="symlog", constant=layout.bend)
        axis = alt.Axis(format=".2~%", tickCount=5) if panel.percent else alt.Axis(tickCount=5)
        return alt.Y("y:Q", title=panel.title, scale=scale, axis=axis)

    def _rules(self, panel: Panel) -> list[Any]:
        import altair as alt

        layers: list[Any] = []
        for rule in panel.rules:
            dash = [5, 4] if rule.dashed else [1, 0]
            line = alt.Chart(alt.InlineData(values=[{"label": rule.label}]))
            if rule.x is not None:
                at: dict[str, Any] = {"x": alt.XDatum(rule.x, type="quantitative")}
                text = line.mark_text(style="reference-label", align="left", baseline="top", dx=5).encode(
                    **at, y=alt.value(0), text="label:N")
            else:
                at = {"y": alt.YDatum(rule.y, type="quantitative")}
                text = line.mark_text(style="reference-label", align="right", baseline="bottom", dy=-3).encode(
                    **at, x=alt.value("width"), text="label:N")
            layers += [line.mark_rule(style="reference", strokeDash=dash).encode(**at), text]
        return layers

    def _pointed(self, index: int, panel: Panel) -> alt.Chart:
        """Returns the rule at the nearest x, whose tooltip has the values of all series there."""
        import altair as alt

        name = f"pointed{index}"
        at: dict[float, dict[str, str]] = {}
        for point in (*panel.lines, *panel.rings, *panel.dots):
            text = format_value(point.y, panel.percent)
            text += f" ± {format_value(point.spread, panel.percent)}" if point.spread else ""
            text += f" ({point.note})" if point.note else ""
            field = f"v{point.series}"
            values = at.setdefault(point.x, {})
            values[field] = f"{values[field]}; {text}" if field in values else text
        shown = [number for number in range(len(self.series)) if any(f"v{number}" in values for values in at.values())]
        self.datasets[name] = [{"x": x, **{f"v{number}": "–" for number in shown}, **at[x]} for x in sorted(at)]
        pointer = alt.selection_point(name=f"pointer{index}", on="pointerover", clear="pointerout", nearest=True,
                                      encodings=["x"], empty=False)
        tips = [alt.Tooltip("x", type=self.kind, title=self.layout.x),
                *(alt.Tooltip(f"v{number}:N", title=self.series[number].name) for number in shown)]
        return alt.Chart(alt.NamedData(name=name)).mark_rule(style="reference").encode(
            x=self.x, tooltip=tips, opacity=alt.condition(pointer, alt.value(0.7), alt.value(0))).add_params(pointer)
