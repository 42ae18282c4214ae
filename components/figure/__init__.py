"""A chart of figures/, which Vega draws in the browser, with a table of the chart's numbers and a download menu."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app import texts
from components.mounting import Content, OnEvent, component

Spec = dict[str, Any]


def spec_of(spec: Spec) -> Spec:
    """Returns a chart specification with texts in the visitor's language."""
    return texts.translated({key: value for key, value in spec.items() if key != "config"})


@component("figure")
def figure(*, key: str, spec: Spec, title: str, models: Sequence[str], what: str, alt: str = "",
           about: Sequence[str] = (), group: str = "", at: float | None = None, here: str = "",
           is_drawn: bool = True, on_event: OnEvent | None = None) -> Content:
    """Displays a chart.

    Args:
        key: key of the mount.
        spec: a specification that `spec_of` returned.
        title: title of the chart and of the downloaded files.
        models: ids of the models, for the names of the files.
        what: one word for the names of the files, like `entropy`.
        alt: the chart in words; if empty, the description in `spec` is used.
        about: sentences below the chart in downloaded files.
        group: group of components/dial. The chart marks the group's position; a click sets the position if
            `spec["usermeta"]["chooses"]` is true.
        at: the marked position.
        here: label of the marked position in the files.
        is_drawn: False to show only the table and the download menu, for a chart that plotly draws.
        on_event: called with {type: at, x, sequence} when a position is chosen in the chart.
    """
    header = {"spec": spec, "title": title, "alt": alt or spec.get("description", ""), "models": list(models),
              "what": what, "about": list(about), "at": at}
    if not is_drawn:
        header["hidden"] = True
    return header | ({"group": group, "here": here} if group else {}), {}
