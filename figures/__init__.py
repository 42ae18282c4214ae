"""Statistical charts: each function takes data and returns an altair chart or a plotly figure, without Streamlit.

    chart = figures.learning_curves(points, title="Loss")
    figures.save(chart, "loss.svg", title="Learning curves")          # .svg, .png, .html, .csv or .json

Altair and plotly are imported by the first function that needs them. Colours and dashes of models come from ModelInfo;
`figures.theme` has the light, dark and print themes, which share assets/colours.json with the app.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from figures.claims import dots, learning_curves, seed_lines
    from figures.export import save
    from figures.lines import Series, of_model

_MODULES = {
    "dots": "figures.claims",
    "learning_curves": "figures.claims",
    "seed_lines": "figures.claims",
    "save": "figures.export",
    "Series": "figures.lines",
    "of_model": "figures.lines",
}

__all__ = ["Series", "dots", "learning_curves", "of_model", "save", "seed_lines"]


def __getattr__(name: str) -> Any:
    """Imports a public name from its module when it is first used (PEP 562)."""
    if name not in _MODULES:
        raise AttributeError(f"module 'figures' has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)
