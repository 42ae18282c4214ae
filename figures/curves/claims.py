"""Charts of Findings: the numbers of the paper beside our numbers, and learning curves."""

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from figures.line_charts import line_parts
from figures.lines import Layout, Panel, Point, Rule, Series
from figures.tables import Charted, Column, Parts, format_value, sentence
from figures.theme import Theme
from models.messages import message

SOURCE = "source"  # value of `which` for the numbers of the paper
_SOURCE = ("accent", 1)  # colour and shape
_OURS = (("ink", 0), ("faint", 2), ("ink", 3), ("faint", 5), ("ink", 4), ("faint", 1))


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
