"""The choice of a model: a button with the current model, and a dialog with all models by task and source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from components.mounting import Content, OnEvent, component


@component("chooser")
def chooser(*, key: str, model: str, task: str, title: str, short: str, foreign: Sequence[Mapping[str, str]] = (),
            on_event: OnEvent | None = None) -> Content:
    """Displays the button.

    Args:
        key: key of the mount.
        model: id of the current model.
        task: title of the current model's task.
        title: title of the current model.
        short: a shorter title for a narrow header.
        foreign: the external models that visitors opened, each with name, title and line; shown in a separate tab.
        on_event: called with {type: model, model, sequence} when another model is chosen.
    """
    header = {"model": model, "task": task, "title": title, "short": short, "foreign": list(foreign)}
    return header, {}


@component("catalogue")
def catalogue(*, key: str, offered: Mapping[str, Sequence[Mapping[str, Any]]],
              pictures: Mapping[str, Mapping[str, Any]]) -> Content:
    """Sends the list of all models and displays nothing. Call this once per session.

    Args:
        key: key of the mount.
        offered: language -> tasks with task, title, line and groups; a group has source and models, and a model has
            name, title, label (the name in charts and on Compare) and line.
        pictures: name -> side and heads (base64 of 4 maps of side x side bytes), for models with a picture.
    """
    return {"offered": dict(offered), "pictures": dict(pictures)}, {}
