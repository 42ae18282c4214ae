"""A chart, drawn and taken away by the browser; components/charts.py makes what it shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from components.mounting import Content, OnEvent, component


@component("chart")
def chart(*, key: str, spec: dict[str, Any], title: str, alt: str, models: Sequence[str], what: str,
          about: Sequence[str] = (), group: str = "", at: float | None = None, here: str = "",
          on_event: OnEvent | None = None) -> Content:
    """Draws a chart.

    Args:
        spec: one of components/charts.py.
        title: what it shows, the heading of its files.
        alt: its numbers in words.
        models, what: what its files are called by; `what` is a word, like `entropy`.
        about: sentences under it in its files.
        group: of components/dial, whose place the chart marks and, if its spec has `chooses`, chooses.
        at: the place of the group.
        here: what that place is called in its files.
        on_event: called with {type: at, x, sequence} when a place of a chart is chosen whose spec has `chooses` (of a
            group as a dial's is); of points with {type: choose, index} and {type: pick, heads: [index]}.
    """
    header = {"spec": spec, "title": title, "alt": alt, "models": list(models), "what": what,
              "about": list(about), **({"group": group, "at": at, "here": here} if group else {})}
    return header, {}
