"""Shows heads and the effect of a plan in a notebook cell: `show`, `compare`, and the class of the widget.

anywidget (`pip install 'attention-lab[notebook]'`) is imported at the first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from widget.widget import HeadsWidget, compare, show

__all__ = ["HeadsWidget", "compare", "show"]


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first used (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module 'widget' has no attribute {name!r}")
    return getattr(importlib.import_module("widget.widget"), name)
