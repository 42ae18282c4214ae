"""Creates altair line charts and dot plots. Imported when the first chart is created, because altair loads slowly."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import altair as alt

from figures.lines import Layout, Outline, Series
from figures.theme import DASHES, SHAPES, Theme, colour
from models.messages import message


def line_plots(series: Sequence[Series], panels: Sequence[Outline], layout: Layout, theme: Theme) -> Any:
    """Returns the chart of figures.curves.line_parts without its datasets."""
    drawing = _Drawing(series, layout, len(panels) == 1, theme)
    plots = [drawing.plot(index, panel) for index, panel in enumerate(panels)]
    chart: Any = plots[0] if len(plots) == 1 else alt.concat(*plots, columns=layout.columns, spacing={"row": 14})
    # Selections are added at the top level, because altair would attach a panel's selection to all layers of the panel.
    position = [alt.VariableParameter(name="at", value=layout.at)] if layout.chooses else []
    chart.params = [*position,
                    *(alt.TopLevelSelectionParameter.from_dict(selection) for selection in drawing.selections)]
    return chart


def dot_plot(order: Sequence[str], styles: Mapping[str, tuple[str, int]], title: str, rule: tuple[float, str] | None,
             percent: bool, theme: Theme) -> Any:
    """Returns the chart of figures.curves.dots without its dataset."""
    names = list(styles)
    picked = alt.selection_point(name="picked", fields=["which"], bind="legend")
    legend = alt.Legend(title=None, symbolSize=90)
    base = alt.Chart(alt.NamedData(name="rows0")).encode(
        y=alt.Y("name:N", sort=list(order), title=None, axis=alt.Axis(domain=False, ticks=False, grid=True,
                                                                      labelLimit=260, titleX=0)),
        x=alt.X("value:Q", title=title, scale=alt.Scale(zero=False, nice=True),
                axis=alt.Axis(format=".2~%" if percent else alt.Undefined, tickCount=8, labelFlush=False)),
        color=alt.Color("which:N", legend=legend, scale=alt.Scale(
            domain=names, range=[colour(which, theme) for which, _shape in styles.values()])),
        opacity=alt.condition(picked, alt.value(1), alt.value(0.12)))
    layers: list[Any] = []
    if rule is not None:
        line = alt.Chart(alt.InlineData(values=[{"label": rule[1]}])).encode(x=alt.datum(rule[0]))
        layers += [line.mark_rule(style="reference", strokeDash=[5, 4]),
                   line.mark_text(style="reference-label", align="left", baseline="bottom", dx=4, dy=-2).encode(
                       y=alt.value(0), text="label:N")]
    layers.append(base.mark_rule(strokeWidth=2).encode(
        x=alt.X("min(value):Q", title=title), x2="max(value):Q", detail="which:N"))
    layers.append(base.mark_point(filled=True, size=80).encode(
        shape=alt.Shape("which:N", legend=legend, scale=alt.Scale(
            domain=names, range=[SHAPES[shape] for _colour, shape in styles.values()])),
        tooltip=[alt.Tooltip("name:N", title=message("name")), alt.Tooltip("which:N", title=message("origin")),
                 alt.Tooltip("shown:N", title=title)]).add_params(picked))
    return alt.layer(*layers).properties(width=480, height=alt.Step(26))


class _Drawing:
    """Creates the plots of one chart, whose data are named datasets, and collects the selections of the plots."""

    def __init__(self, series: Sequence[Series], layout: Layout, is_single: bool, theme: Theme) -> None:
        self.series, self.layout, self.is_single = series, layout, is_single
        names = [one.name for one in series]
        legend = alt.Legend(title=None, symbolType="stroke", symbolSize=700) if len(series) > 1 else None
        kind: Literal["ordinal", "quantitative"] = "ordinal" if layout.scale == "band" else "quantitative"
        self.kind = kind
        scales = {"log2": alt.Scale(type="log", base=2, nice=False, padding=8),
                  "linear": alt.Scale(zero=False, nice=False, padding=8)}
        axis = alt.Axis(values=list(layout.values)) if layout.values else alt.Axis(
            labelAngle=0) if layout.scale == "band" else alt.Axis(tickCount=8 if layout.width > 200 else 4)
        self.x = alt.X("x", type=kind, title=layout.x, scale=scales.get(layout.scale, alt.Undefined), axis=axis)
        scale = alt.Scale(domain=names, range=[colour(one.colour, theme) for one in series])
        self.colour = alt.Color("series:N", legend=legend, scale=scale)
        self.dash = alt.StrokeDash("series:N", legend=legend, scale=alt.Scale(
            domain=names, range=[DASHES[one.dash % len(DASHES)] for one in series]))
        self.shape = alt.Shape("shape:N", scale=None)  # per row, so that the legend has lines, not shapes
        self.width = alt.StrokeWidth("width:Q", scale=None)
        self.opacity = alt.OpacityValue(0.12, condition={"param": "picked", "value": 1})
        self.selections: list[dict[str, Any]] = []

    def plot(self, index: int, panel: Outline) -> Any:
        """Returns a panel as layers: rules, error bars, lines, points, the position, and values at the pointer."""
        name, suffix = f"rows{index}", self.suffix(index)
        base = alt.Chart(alt.NamedData(name=name)).encode(x=self.x, y=self._y(panel), color=self.colour)
        layers: list[Any] = [*self._rules(panel)]
        if panel.spread:
            layers.append(base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=1.5).encode(
                y=alt.Y("low:Q"), y2="high:Q", opacity=self.opacity))
        if panel.lines:
            # The legend belongs to the lines. A series with one point has no line, so the point is always drawn.
            lines = base.transform_filter("datum.form == 'line'").mark_line(clip=True).encode(
                strokeDash=self.dash, strokeWidth=self.width, opacity=self.opacity, order=alt.Order("order:Q"))
            layers.append(lines.properties(name=f"lines{index}"))
            if not self.selections:  # Vega allows a legend selection in one panel only
                self.selections.append({"name": "picked", "bind": "legend", "views": [f"lines{index}{suffix}"],
                                        "select": {"type": "point", "fields": ["series"]}})
            layers.append(base.transform_filter("datum.form == 'line' && datum.marked").mark_point(
                filled=True, size=46, opacity=1).encode(shape=self.shape, opacity=self.opacity))
        if panel.dots:
            layers.append(base.transform_filter("datum.form == 'dot'").mark_point(size=34, strokeWidth=1.2).encode(
                shape=self.shape, opacity=self.opacity))
        if self.layout.chooses:
            layers.append(base.transform_filter("datum.form == 'line' && datum.x == at").mark_point(
                filled=True, size=110).encode(opacity=self.opacity))
            layers.append(alt.Chart(alt.InlineData(values=[{}])).mark_rule(
                style="position", strokeWidth=1.5).encode(x=alt.XDatum(alt.expr("at"), type="quantitative")))
        layers.append(self._pointed(index, panel))
        return alt.layer(*layers).properties(width=self.layout.width, height=self.layout.height)

    def suffix(self, index: int) -> str:
        """Returns the suffix that altair appends to the names of a panel's views when it concatenates panels."""
        return "" if self.is_single else f"_{index}"

    def _y(self, panel: Outline) -> alt.Y:
        scale = alt.Scale(zero=False, nice=True)
        if panel.domain:
            scale.domain, scale.clamp = list(panel.domain), True
        axis = alt.Axis(format=".2~%", tickCount=5) if panel.percent else alt.Axis(tickCount=5)
        return alt.Y("y:Q", title=panel.title, scale=scale, axis=axis)

    def _rules(self, panel: Outline) -> list[Any]:
        layers: list[Any] = []
        for rule in panel.rules:
            line = alt.Chart(alt.InlineData(values=[{"label": rule.label}]))
            if rule.x is not None:
                at: dict[str, Any] = {"x": alt.XDatum(rule.x, type="quantitative")}
                text = line.mark_text(style="reference-label", align="left", baseline="top", dx=5).encode(
                    **at, y=alt.value(0), text="label:N")
            else:
                at = {"y": alt.YDatum(rule.y, type="quantitative")}
                text = line.mark_text(style="reference-label", align="right", baseline="bottom", dx=0, dy=-3).encode(
                    **at, x=alt.value("width"), text="label:N")
            layers += [line.mark_rule(style="reference", strokeDash=[5, 4]).encode(**at), text]
        return layers

    def _pointed(self, index: int, panel: Outline) -> alt.Chart:
        """Returns a rule at the x nearest to the pointer. The tooltip has the values of all series at this x."""
        name = f"pointed{index}"
        self.selections.append({"name": f"pointer{index}", "views": [f"{name}{self.suffix(index)}"], "select": {
            "type": "point", "on": "pointerover", "clear": "pointerout", "nearest": True, "encodings": ["x"]}})
        shown_at = {"param": f"pointer{index}", "empty": False, "value": 0.7}
        tips = [alt.Tooltip("x", type=self.kind, title=self.layout.x),
                *(alt.Tooltip(f"v{number}:N", title=self.series[number].name) for number in panel.with_values)]
        return alt.Chart(alt.NamedData(name=name)).mark_rule(style="reference").encode(
            x=self.x, tooltip=tips, opacity=alt.OpacityValue(0, condition=shown_at)).properties(name=name)
