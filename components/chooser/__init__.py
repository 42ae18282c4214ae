"""The choice of a model: a button with its name, and a dialog with all there are, first by task, then by source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from components.mounting import Content, OnEvent, component


@component("chooser")
def chooser(*, key: str, model: str, task: str, title: str, short: str, foreign: Sequence[Mapping[str, str]] = (),
            on_event: OnEvent | None = None) -> Content:
    """Draws the button.

    Args:
        model: the present one's id.
        task, title: what is asked of it, and what people call it.
        short: the same in a word or two, for a narrow header.
        foreign: models of the visitor's own, each with name, title and line; a group of their own if there are any.
        on_event: called with {type: model, model, sequence} when another one is chosen.
    """
    header = {"model": model, "task": task, "title": title, "short": short, "foreign": list(foreign)}
    return header, {}


@component("catalogue")
def catalogue(*, key: str, offered: Mapping[str, Sequence[Mapping[str, Any]]],
              pictures: Mapping[str, Mapping[str, Any]]) -> Content:
    """Sends what there is to choose from; call it once a visit. Nothing is drawn.

    Args:
        offered: language -> tasks, each with task, title, line and groups; of these each with source and models, each
            with name, title and line.
        pictures: name -> side and heads (base64 of 4 maps of side x side bytes), where there is one.
    """
    return {"offered": dict(offered), "pictures": dict(pictures)}, {}
