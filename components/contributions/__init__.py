"""Sorted bars that show the contributions of heads and other components, with choices above the bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from components.mounting import Content, OnEvent, component


@component("contributions")
def contributions(*, key: str, title: str, about: str = "", total: str = "", unit: str = "",
                  bars: Sequence[dict[str, Any]] = (), choices: Sequence[dict[str, Any]] = (),
                  field: dict[str, Any] | None = None, message: str = "", model: str = "",
                  on_event: OnEvent | None = None) -> Content:
    """Displays the bars, the largest absolute value first.

    Args:
        key: key of the mount.
        title: heading.
        about: a sentence below the heading.
        total: a sentence about the sum.
        unit: unit of the values, `%` or a word.
        bars: each with label, value, and optionally head (block, layer, head, counted from 0) and patched (True if the
            plan patches this head).
        choices: lists to choose from, each with name, label, value and options; an option has value and text.
        field: a text field with label, value and examples (pairs of prompts); None for no field.
        message: a text that is shown in place of the bars.
        model: title of the model, for downloads.
        on_event: called with {type: select, kind, layer, head}, {type: patch, kind, layer, head, on},
            {type: choose, name, value}, {type: source, text} or {type: pair, text, source}, each with `sequence`.
    """
    return {"title": title, "about": about, "total": total, "unit": unit, "bars": list(bars), "choices": list(choices),
            "field": field, "message": message, "model": model}, {}
