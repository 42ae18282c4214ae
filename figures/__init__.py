"""Statistical charts: each function takes data and returns an altair chart or a plotly figure, without Streamlit.

    chart = figures.learning_curves(points, title="Loss")
    figures.save(chart, "loss.svg", title="Learning curves")          # .svg, .png, .html, .csv or .json

The first function that needs altair or plotly imports it. Colours and dashes of models come from ModelInfo.
`figures.theme` defines the light, dark and print themes, which share assets/colours.json with the app.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from figures.curves.claims import dots, learning_curves, seed_lines, statements
    from figures.curves.constants import drop_curves, loss_by_score, task_curves
    from figures.curves.lengths import entropy_of_heads, entropy_of_queries, length_curves
    from figures.curves.pruning import memory_curves, minimal_heads_curve, pruning_curves
    from figures.export import save
    from figures.head_scatter import HeadPoint, head_points, head_scatter
    from figures.line_charts import line_chart
    from figures.lines import Layout, Panel, Point, Rule, Series, of_model
    from figures.pattern import attention_pattern, head_patterns, mask_surface, pattern_squares
    from figures.squares import Field, correlations, gate_squares, group_squares, head_squares, pair_squares

_MODULES = {name: module for module, names in {
    "figures.curves.claims": "dots learning_curves seed_lines statements",
    "figures.curves.constants": "drop_curves loss_by_score task_curves",
    "figures.export": "save",
    "figures.head_scatter": "HeadPoint head_points head_scatter",
    "figures.curves.lengths": "entropy_of_heads entropy_of_queries length_curves",
    "figures.line_charts": "line_chart",
    "figures.lines": "Layout Panel Point Rule Series of_model",
    "figures.pattern": "attention_pattern head_patterns mask_surface pattern_squares",
    "figures.curves.pruning": "memory_curves minimal_heads_curve pruning_curves",
    "figures.squares": "Field correlations gate_squares group_squares head_squares pair_squares",
}.items() for name in names.split()}

__all__ = ["Field", "HeadPoint", "Layout", "Panel", "Point", "Rule", "Series", "attention_pattern", "correlations",
           "dots", "drop_curves", "entropy_of_heads", "entropy_of_queries", "gate_squares", "group_squares",
           "head_patterns", "head_points", "head_scatter", "head_squares", "learning_curves", "length_curves",
           "line_chart", "loss_by_score", "mask_surface", "memory_curves", "minimal_heads_curve", "of_model",
           "pair_squares", "pattern_squares", "pruning_curves", "save", "seed_lines", "statements",
           "task_curves"]


def __getattr__(name: str) -> Any:
    """Imports a public name from its module when it is first used (PEP 562)."""
    if name not in _MODULES:
        raise AttributeError(f"module 'figures' has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)
