"""Charts of models with fewer heads or less memory: loss, BLEU, cost, KL divergence and perplexity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from figures.line_charts import line_parts
from figures.lines import Layout, Panel, Point, Rule, Series
from figures.tables import Parts, charted
from figures.theme import Theme
from models.messages import N_, message

Curve = Sequence[Sequence[float | None]]  # rows [remaining heads, value] or [remaining heads, value, spread]

# Names of curves besides the pruning orders (models/analysis/pruning_orders.py): fine-tuning with learned gates, and
# the cost of a pass.
TRAINED_ON, MULTIPLICATIONS, TIME = "trained on", "multiplications", "seconds"
_SERIES: dict[str, tuple[str, int | str, int]] = {
    "learned": (N_("learned gates"), 2, 0), "alone": (N_("single-head loss increase"), 0, 0),
    "confidence": (N_("confidence"), 1, 2), "random": (N_("random order"), "faint", 1),
    "text": (N_("single-head loss increase, on this text"), 3, 1),
    TRAINED_ON: (N_("learned gates, weights fine-tuned"), 4, 3),
    MULTIPLICATIONS: (N_("multiplications"), 5, 1), TIME: (N_("time"), 7, 3)}
_ORDERS = (("accent", 0), (1, 1), (2, 2), (3, 3))  # colour and dash: learned gates first, then simpler pruning orders
MOST_TICKS = 10  # upper bound of the ticks on an axis of whole numbers


@charted
def pruning_curves(panels: Sequence[tuple[str, bool, Mapping[str, Curve]]], left: int, title: str = "",
                   theme: Theme = "light") -> Parts:
    """Returns quantities against the number of remaining heads, one panel per quantity.

    Args:
        panels: (title with unit, percent, curves). The keys of the curves are names of pruning orders, TRAINED_ON,
            MULTIPLICATIONS or TIME.
        left: number of remaining heads that a line marks; the parameter `at` moves this line.
        title: title of the chart.
        theme: see figures.theme.
    """
    names = [name for name in _SERIES if any(curves.get(name) for _title, _percent, curves in panels)]
    series = [Series(message(_SERIES[name][0]), *_SERIES[name][1:]) for name in names]
    plots = [Panel(heading, [_point(names.index(name), row) for name in names for row in curves.get(name, ())],
                   percent=percent) for heading, percent, curves in panels]
    return line_parts(series, plots, Layout(message("heads left"), columns=2, width=420, height=190, least=280,
                                            chooses=True, at=left), title or message("Effect of pruning"), theme)


def _point(series: int, row: Sequence[float | None]) -> Point:
    left, value, *spread = row
    assert left is not None and value is not None
    return Point(series, left, value, spread[0] if spread else None)


@charted
def minimal_heads_curve(curves: Mapping[str, Sequence[tuple[int, float]]], chosen: tuple[int, float], bound: float,
                        theme: Theme = "light") -> Parts:
    """Returns the KL divergence against the number of remaining heads, one line per pruning order, on a symlog axis.

    Args:
        curves: name -> (remaining heads, KL divergence in nats); learned gates first.
        chosen: (heads, nats) of the minimal head set, which a ring marks.
        bound: the largest allowed KL divergence in nats, which a line marks.
        theme: see figures.theme.
    """
    series = [Series(name, *_ORDERS[number % len(_ORDERS)]) for number, name in enumerate(curves)]
    points = [Point(number, heads, round(nats, 5)) for number, curve in enumerate(curves.values())
              for heads, nats in sorted(curve)]
    panel = Panel(message("KL divergence, nats"), points, [Point(0, *chosen, note=message("the answer"))],
                  rules=[Rule(message("at most {bound:g}", bound=bound), y=bound)])
    return line_parts(series, [panel], Layout(message("heads left"), y_scale="symlog", bend=max(bound, 1e-3),
                                              zero=True, height=280),
                      message("KL divergence by the number of heads that are left"), theme)


@charted
def winning_heads_curve(points: Sequence[tuple[int, float]], chosen: int, constant: bool,
                        theme: Theme = "light") -> Parts:
    """Returns the margin of the chosen token against the number of changed heads."""
    x = message("heads made constant") if constant else message("heads pruned")
    line = [Point(0, heads, round(nats, 5)) for heads, nats in points]
    panel = Panel(message("margin, nats"), line, [Point(0, chosen, round(dict(points)[chosen], 5),
                                                        note=message("the answer"))],
                  rules=[Rule(message("the token wins above 0"), y=0.0, left=True)])
    sizes = [heads for heads, _nats in points]
    whole = range(min(sizes), max(sizes) + 1, -(-len(sizes) // MOST_TICKS))  # there is no half head
    layout = Layout(x, height=240, values=list(whole))
    return line_parts([Series(message("best set of each size"), "accent")], [panel], layout,
                      message("Margin of the chosen token by the number of changed heads"), theme)


@charted
def memory_curves(rows: Sequence[Mapping[str, Any]], theme: Theme = "light") -> Parts:
    """Returns perplexity against memory, one line per rule for dropping tokens, on a logarithmic axis.

    Args:
        rows: rows with line, style, factor (1, 2, 4, ...: full memory divided by kept memory), perplexity and budgets
            (as text), grouped by line.
        theme: see figures.theme.
    """
    names = list(dict.fromkeys(row["line"] for row in rows))
    styles = {row["line"]: row["style"] for row in rows}
    points = [Point(names.index(row["line"]), row["factor"], row["perplexity"],
                    note=message("budgets {budgets}", budgets=row["budgets"])) for row in rows]
    return line_parts([Series.of_style(name, styles[name]) for name in names],
                      [Panel(message("perplexity"), points)],
                      Layout(message("whole memory / kept memory"), "log2", height=340,
                             values=sorted({row["factor"] for row in rows})),
                      message("Perplexity against memory"), theme)
