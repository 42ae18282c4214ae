"""Charts over text length (loss, accuracy, entropy, normaliser), and charts of the entropy of each query."""

from __future__ import annotations

import math
from collections.abc import Sequence

from numpy import ndarray

from figures.line_charts import line_parts
from figures.lines import Layout, Panel, Point, Rule, Series
from figures.tables import Parts, charted
from figures.theme import Theme
from models.messages import message


@charted
def length_curves(series: Sequence[Series], panels: Sequence[Panel], length: int, trained: Sequence[int],
                  theme: Theme = "light") -> Parts:
    """Returns measured quantities against the number of tokens on a logarithmic axis, one panel per quantity.

    Args:
        series: one per model and inference setting.
        panels: panels with title and unit, lines, and rings for the input text.
        length: number of tokens that a line marks; the parameter `at` moves this line.
        trained: text lengths of the models' training in tokens, which dashed lines mark.
        theme: see figures.theme.
    """
    rules = [Rule(message("trained"), x=tokens) for tokens in trained]
    lengths = sorted({point.x for panel in panels for point in panel.lines})
    ruled = [Panel(panel.title, panel.lines, panel.rings, rules=rules, percent=panel.percent) for panel in panels]
    return line_parts(series, ruled, Layout(message("tokens"), "log2", columns=2, width=420, height=190, least=360,
                                            chooses=True, at=length, ringed=True, ring_label=message("your text"),
                                            fits_lines=True, values=lengths),
                      message("Effect of text length"), theme)


@charted
def entropy_of_heads(before: ndarray, after: ndarray | None, causal: bool, selected: int,
                     theme: Theme = "light") -> Parts:
    """Returns the entropy of each query of each head of a layer, as small multiples.

    Args:
        before: (H, N) nats, without a plan.
        after: (H, N) nats, under the plan; None without a plan.
        causal: True if query i attends to n = i + 1 keys; False if to all N.
        selected: index of the head whose heading is marked, from 0.
        theme: see figures.theme.
    """
    heads, n = before.shape
    series = [_uniform(), Series(message("unmodified"), "ink", marked=False)]
    rows = [before] if after is None else [before, after]
    if after is not None:
        series.append(Series(message("with your changes"), "accent", marked=False))
    panels = []
    for head in range(heads):
        points = _numbered(0, [_most(causal, n, i) for i in range(n)])
        for number, values in enumerate(rows, 1):
            points += _numbered(number, values[head].tolist())
        heading = message("head {head} (selected)", head=head + 1) if head == selected else \
            message("head {head}", head=head + 1)
        panels.append(Panel("", points, heading=heading))
    return line_parts(series, panels, Layout("n", zero=True, together=True, columns=4, width=130, height=80, least=105,
                                             beside=38),
                      message("Entropy of each query, nats"), theme)


@charted
def entropy_of_queries(series: Sequence[Series], entropies: Sequence[Sequence[float]], causal: bool,
                       theme: Theme = "light") -> Parts:
    """Returns the entropy of each query of one head, one line per model, with the largest possible entropy ln n.

    Args:
        series: one per model.
        entropies: for each model, (N,) entropies in nats.
        causal: True if query i attends to i + 1 keys; False if to all N.
        theme: see figures.theme.
    """
    n = max(map(len, entropies))
    points = [point for number, values in enumerate(entropies) for point in _numbered(number, values)]
    points += _numbered(len(series), [_most(causal, n, i) for i in range(n)])
    return line_parts([*series, _uniform()], [Panel(message("entropy, nats"), points)],
                      Layout(message("query"), zero=True, height=280), message("Entropy of each query, nats"), theme)


def _uniform() -> Series:
    return Series(message("ln n, the largest possible"), "faint", 2, marked=False)


def _most(causal: bool, n: int, i: int) -> float:
    return math.log(i + 1 if causal else n)


def _numbered(series: int, values: Sequence[float]) -> list[Point]:
    return [Point(series, i, round(float(value), 4)) for i, value in enumerate(values, 1)]
