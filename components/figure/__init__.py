"""A chart of figures/, drawn in the browser by Vega, with its table and a menu of files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app import texts
from components.mounting import Content, OnEvent, component

Spec = dict[str, Any]


def spec_of(spec: Spec) -> Spec:
    """Returns a specification with its texts in the visitor's language.

    Args:
        spec: spec of a chart of figures/, in the light theme: `length_curves.spec(...)`. The browser adds the theme.
    """
    return texts.translated({key: its for key, its in spec.items() if key != "config"})


@component("figure")
def figure(*, key: str, spec: Spec, title: str, models: Sequence[str], what: str, alt: str = "",
           about: Sequence[str] = (), group: str = "", at: float | None = None, here: str = "",
           is_drawn: bool = True, on_event: OnEvent | None = None) -> Content:
    """Draws a chart.

    Args:
        key: key of the mount.
        spec: made by `spec_of`.
        title: title of the chart, and of its files.
        models: ids of the models, for the files' names.
        what: one word for the files' names, like `entropy`.
        alt: the chart in words; empty for the description in the spec.
        about: sentences below the chart in its files.
        group: group of components/dial; the chart marks the group's position and, if its spec chooses, sets it.
        at: the marked position.
        here: label of that position in the files.
        is_drawn: False for the table and the files alone, of a chart that plotly draws.
        on_event: called with {type: at, x, sequence} when a position is chosen in a chart that chooses.
    """
    header = {"spec": spec, "title": title, "alt": alt or spec.get("description", ""), "models": list(models),
              "what": what, "about": list(about), "at": at}
    if not is_drawn:
        header["hidden"] = True
    return header | ({"group": group, "here": here} if group else {}), {}
