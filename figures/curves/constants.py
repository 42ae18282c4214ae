"""Charts of constant heads (PAPA): relative drop, scores by task, and score against drop."""

from collections.abc import Mapping, Sequence

from figures.line_charts import line_parts
from figures.lines import Layout, Panel, Point, Rule, Series
from figures.tables import Charted, Parts
from figures.theme import Theme
from models.messages import N_, message

# Probe mode (how heads are modified) -> name, colour and dash.
WAYS: dict[str, tuple[str, str, int]] = {"learned": (N_("constant, in the learned order"), "accent", 0),
                                         "random": (N_("constant, in a random order"), "ink", 2),
                                         "removed": (N_("pruned, in the learned order"), "faint", 1)}
Curve = Sequence[tuple[int, float, float]]  # (number of modified heads, value, standard deviation)


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
    return line_parts(_series(ways), [panel], Layout(_across(ways), height=250, chooses=True, at=count),
                      title, theme)


@Charted
def task_curves(panels: Sequence[tuple[str, Mapping[str, Curve]]], count: int,
                theme: Theme = "light") -> Parts:
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
