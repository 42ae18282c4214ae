"""A chart, drawn by the browser, with a download menu; components/head_charts.py makes its spec."""

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
        key: of the mount.
        spec: made by components/head_charts.py.
        title: of the chart, and of its files.
        alt: the chart's numbers as text.
        models: ids of the models, for the files' names.
        what: one word for the files' names, like `entropy`.
        about: sentences under the chart in its files.
        group: of components/dial; the chart marks the group's position and, if its spec has `chooses`, sets it.
        at: the position of the group.
        here: label of that position in the files.
        on_event: called with {type: at, x, sequence} when a position is chosen in a chart whose spec has `chooses`; for
            points with {type: choose, index} and {type: pick, heads: [index]}.
    """
    header = {"spec": spec, "title": title, "alt": alt, "models": list(models), "what": what,
              "about": list(about), **({"group": group, "at": at, "here": here} if group else {})}
    return header, {}
