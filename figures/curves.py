"""Charts of lines and points. Their functions are public names of `figures`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from statistics import fmean, stdev
from typing import Any

from figures.lines import Charted, Column, Layout, Outline, Panel, Parts, Point, Rule, Series, format_value, sentence
from figures.theme import SHAPES, Theme
from models.messages import N_, message

MANY = 24  # number of points of a line above which points have no marks
# Probe mode (how heads are modified) -> name, colour and dash.
WAYS: dict[str, tuple[str, str, int]] = {"learned": (N_("constant, in the learned order"), "accent", 0),
                                         "random": (N_("constant, in a random order"), "ink", 2),
                                         "removed": (N_("pruned, in the learned order"), "faint", 1)}
Curve = Sequence[tuple[int, float, float]]  # (number of modified heads, value, standard deviation)
SOURCE = "source"  # value of `which` for the numbers of the paper
_SOURCE = ("accent", 1)  # colour and shape
_OURS = (("ink", 0), ("faint", 2), ("ink", 3), ("faint", 5), ("ink", 4), ("faint", 1))


def line_parts(series: Sequence[Series], panels: Sequence[Panel], layout: Layout, title: str,
               theme: Theme = "light") -> Parts:
    """Returns a chart with lines of several series in one or more panels.

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


line_chart = Charted(line_parts)


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


@Charted
def length_curves(series: Sequence[Series], panels: Sequence[Panel], length: int, trained: Sequence[int],
                  theme: Theme = "light") -> Parts:
    """Returns measured quantities against the number of tokens on a logarithmic axis, one panel per quantity.

    Args:
        series: one per model and inference setting.
        panels: panels with title and unit, and lines.
        length: number of tokens that a line marks; the parameter `at` moves this line.
        trained: text lengths of the models' training in tokens, which dashed lines mark.
        theme: see figures.theme.
    """
    rules = [Rule(message("trained"), x=tokens) for tokens in trained]
    lengths = sorted({point.x for panel in panels for point in panel.lines})
    ruled = [Panel(panel.title, panel.lines, rules=rules, percent=panel.percent) for panel in panels]
    return line_parts(series, ruled, Layout(message("tokens"), "log2", columns=2, width=420, height=190, least=360,
                                            chooses=True, at=length, fits_lines=True, values=lengths),
                      message("Effect of text length"), theme)


def _series(ways: Sequence[str]) -> list[Series]:
    return [Series(message(WAYS[way][0]), *WAYS[way][1:]) for way in ways]


def _points(curves: Mapping[str, Curve], ways: Sequence[str]) -> list[Point]:
    return [Point(number, x, round(y, 5), round(spread, 5) or None) for number, way in enumerate(ways)
            for x, y, spread in curves.get(way, ())]


def _across(ways: Sequence[str]) -> str:
    """Returns the title of the horizontal axis."""
    return message("constant or pruned heads") if "removed" in ways else message("constant heads")


def _measured(*curves: Mapping[str, Curve]) -> list[str]:
    """Returns the probe modes that have points in at least one panel."""
    return [way for way in WAYS if any(curve.get(way) for curve in curves)]


@Charted
def drop_curves(curves: Mapping[str, Curve], title: str, average: float, most: float, count: int,
                theme: Theme = "light") -> Parts:
    """Returns the mean relative drop against the number of modified heads, with the paper's two numbers.

    Args:
        curves: probe mode -> points; drops are fractions.
        title: title of the vertical axis.
        average, most: the paper's average and largest drop, as fractions.
        count: number of modified heads that a line marks; the parameter `at` moves this line.
        theme: see figures.theme.
    """
    ways = _measured(curves)
    panel = Panel(title, _points(curves, ways), percent=True, rules=[
        Rule(message("paper: average drop with all heads constant"), y=average), Rule(message("paper: largest drop"),
                                                                                      y=most)])
    return line_parts(_series(ways), [panel], Layout(_across(ways), height=250, chooses=True, at=count), title, theme)


@Charted
def task_curves(panels: Sequence[tuple[str, Mapping[str, Curve]]], count: int, theme: Theme = "light") -> Parts:
    """Returns the scores against the number of modified heads, one panel per task.

    Args:
        panels: (title of the task with its metric, curves).
        count: see `drop_curves`.
        theme: see figures.theme.
    """
    ways = _measured(*(curves for _title, curves in panels))
    return line_parts(_series(ways), [Panel(title, _points(curves, ways)) for title, curves in panels],
                      Layout(_across(ways), columns=3, width=230, height=150, least=230, chooses=True,
                             at=count), message("Scores by task"), theme)


@Charted
def dots(points: Sequence[Mapping[str, Any]], title: str, rule: tuple[float, str] | None = None,
         percent: bool = False, names: Mapping[str, str] | None = None, theme: Theme = "light") -> Parts:
    """Returns a dot plot with one row per name: the paper's number and our numbers, with intervals over several values.

    A bar joins the values of one name and one origin from the smallest to the largest value; each value is a dot.

    Args:
        points: name (row), value, which (`source`, or one of our series); several values of a row are seeds.
        title: title of the values, with the unit.
        rule: a value that a vertical line marks, and its label.
        percent: True for fractions, which are shown in percent.
        names: name or which -> text in the reader's language.
        theme: see figures.theme.
    """
    word = dict(names or {})
    rows = [{"name": word.get(p["name"], p["name"]), "which": word.get(p["which"], p["which"]), "value": p["value"],
             "shown": format_value(p["value"], percent)} for p in points]
    whiches = list(dict.fromkeys(p["which"] for p in points))
    ours = [which for which in whiches if which != SOURCE]
    styles = {word.get(which, which): _SOURCE if which == SOURCE else _OURS[min(ours.index(which), len(_OURS) - 1)]
              for which in whiches}
    order = tuple(dict.fromkeys(row["name"] for row in rows))
    marked = None if rule is None else (rule[0], word.get(rule[1], rule[1]))
    key = ("dots", order, tuple(styles.items()), title, marked, percent, theme)

    def build() -> Any:
        from figures.plots import dot_plot  # imports altair

        return dot_plot(order, styles, title, marked, percent, theme)

    parts = [message("{name}, {which}: {value}", name=row["name"], which=row["which"], value=row["shown"])
             for row in rows]
    return Parts(key, build, {"rows0": rows}, [Column("name", message("name")), Column("which", message("origin")),
                                               Column("value", title)],
                 title, sentence(title, "", parts), theme, {"columns": 1, "least": 300})


@Charted
def seed_lines(points: Sequence[Mapping[str, Any]], title: str, across: str, styles: Mapping[str, Mapping[str, Any]],
               rule: tuple[float, str] | None = None, percent: bool = False, scattered: bool = False,
               names: Mapping[str, str] | None = None, theme: Theme = "light") -> Parts:
    """Returns one line per name, the mean over seeds, with a small mark for each seed.

    Args:
        points: name, x, value, seed.
        title, across: titles of the vertical and the horizontal axis, with units.
        styles: name -> colour and dash (studies.series.style).
        rule: a value that a horizontal line marks, and its label.
        percent: True for fractions, which are shown in percent.
        scattered: True to place x values to scale; False for equal distances between the values.
        names: name -> text in the reader's language.
        theme: see figures.theme.
    """
    word = dict(names or {})
    order = list(dict.fromkeys(p["name"] for p in points))
    lines, seeds = [], []
    for index, name in enumerate(order):
        at: dict[float, list[Mapping[str, Any]]] = {}
        for point in points:
            if point["name"] == name:
                at.setdefault(point["x"], []).append(point)
        for x, seed_values in sorted(at.items()):
            values = [p["value"] for p in seed_values]
            lines.append(Point(index, x, fmean(values), stdev(values) if len(values) > 1 else None))
            seeds += [Point(index, x, p["value"], note=message("seed {seed}", seed=p["seed"])) for p in seed_values
                      if len(seed_values) > 1]
    rules = [] if rule is None else [Rule(word.get(rule[1], rule[1]), y=rule[0])]
    return line_parts([Series.of_style(word.get(name, name), styles[name]) for name in order],
                      [Panel(title, lines=lines, dots=seeds, rules=rules, percent=percent)],
                      Layout(across, "linear" if scattered else "band", height=280), title, theme)


@Charted
def learning_curves(points: Sequence[Mapping[str, Any]], title: str, across: str,
                    styles: Mapping[str, Mapping[str, Any]], names: Mapping[str, str] | None = None,
                    theme: Theme = "light") -> Parts:
    """Returns the validation loss during training, one line per model, with training steps on a logarithmic axis.

    Args:
        points: name, x (training steps), value (nats), seed.
        title, across, styles, names, theme: see `seed_lines`.
    """
    word = dict(names or {})
    order = list(dict.fromkeys(p["name"] for p in points))
    lines = [Point(order.index(p["name"]), p["x"], p["value"]) for p in points]
    return line_parts([Series.of_style(word.get(name, name), styles[name]) for name in order],
                      [Panel(title, lines=sorted(lines, key=lambda point: (point.series, point.x)))],
                      Layout(across, "log2", height=300), title, theme)
