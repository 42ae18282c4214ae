"""Charts of models with fewer heads or less memory: loss, BLEU, cost, KL divergence and perplexity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from figures.line_charts import line_parts
from figures.lines import Layout, Panel, Point, Series
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
