"""The tools of the Lab: one module per tool, each with a list TOOLS of values of app/lab/tool.py."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from numpy import ndarray

from app.lab.tool import Tool
from app.lab.view import View
from app.server.limits import LimitError
from app.texts import _
from models.storage.checkpoint import CheckpointError

# the order in which the inspector lists the tools of a thing
ORDER = ("looks", "why", "feeds", "corpus", "mean", "layer_heads", "forget", "find", "fewest", "order", "papa",
         "length", "scale", "memory", "second", "card", "who", "lens", "loss", "wholooks", "swapw", "hide", "carry",
         "align", "cont", "list", "get")
REVEALS = {"loss", "second", "swapw", "carry"}  # tools of other things that show a prediction
TOOLS: list[Tool] = [tool for name in ORDER for tool in import_module(f"{__name__}.{name}").TOOLS]


FIRST_TOOLS = {tool.thing: tool.key for tool in reversed(TOOLS)}  # thing -> key of its first tool


def act(event: dict[str, Any]) -> None:
    """Passes the event of a tool's own control to the tool."""
    tool = next((tool for tool in TOOLS if tool.key == event.get("tool")), None)
    if tool is not None and tool.act is not None:
        tool.act(event)


def offered(view: View) -> list[Tool]:
    """Returns the tools that fit the view's model and text."""
    return [tool for tool in TOOLS if tool.fits(view)]


def content(view: View, among: list[Tool]) -> tuple[dict[str, Any] | None, dict[str, ndarray]]:
    """Returns the payload of the open tool, and its arrays; of the thing's first tool if the open one does not fit."""
    wanted = view.state.lab.tool
    tool = next((tool for tool in among if tool.key == wanted), None) or next(
        (tool for tool in among if tool.thing == view.state.lab.thing), None)
    if tool is None:
        return None, {}
    return _content(view, tool)


def pinned(view: View, among: list[Tool]) -> tuple[list[dict[str, Any]], dict[str, ndarray]]:
    """Returns the payloads of the pinned tools that fit, with their arrays as `pinI.NAME`."""
    found: list[dict[str, Any]] = []
    all_arrays: dict[str, ndarray] = {}
    for tool in (tool for key in view.state.lab.pins for tool in among if tool.key == key):
        header, arrays = _content(view, tool)
        all_arrays |= {f"pin{len(found)}.{name}": array for name, array in arrays.items()}
        found.append(header)
    return found, all_arrays


def _content(view: View, tool: Tool) -> tuple[dict[str, Any], dict[str, ndarray]]:
    if view.state.hides_answer and (tool.thing == "answer" or tool.name in REVEALS):
        return {"key": tool.key, "message": _("Guess first. The answer stays hidden.")}, {}
    try:
        header, arrays = tool.content(view, tool)
    # the model, the text or the visitor's limit does not allow it, or a stored measurement is damaged
    except (ValueError, LimitError, CheckpointError) as error:
        header, arrays = {"message": _(str(error))}, {}
    return {"key": tool.key, **header}, arrays
