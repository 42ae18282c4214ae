"""The tools of the Lab that need only a view, and the content of tools; each module has a list TOOLS."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from numpy import ndarray

from app.content.tool import Tool
from app.content.view import View
from app.texts import _, sentence

TOOLS: dict[str, list[Tool]] = {name: import_module(f"{__name__}.{name}").TOOLS for name in (
    "looks", "mean", "forget", "scale", "lens", "loss", "wholooks", "list")}
ALL = [tool for tools in TOOLS.values() for tool in tools]
REVEALS = {"loss", "second", "swapw", "carry"}  # tools of other things that show a prediction


def first_tools(tools: Sequence[Tool]) -> dict[str, str]:
    """Returns thing -> key of its first tool."""
    return {tool.thing: tool.key for tool in reversed(tools)}


FIRST_TOOLS = first_tools(ALL)


def content(view: View, among: Sequence[Tool], *errors: type[Exception]
            ) -> tuple[dict[str, Any] | None, dict[str, ndarray]]:
    """Returns the payload of the open tool, and its arrays; of the thing's first tool if the open one does not fit.

    A ValueError or one of `errors` becomes the tool's message.
    """
    wanted = view.state.lab.tool
    tool = next((tool for tool in among if tool.key == wanted), None) or next(
        (tool for tool in among if tool.thing == view.state.lab.thing), None)
    if tool is None:
        return None, {}
    return _content(view, tool, (ValueError, *errors))


def pinned(view: View, among: Sequence[Tool], *errors: type[Exception]
           ) -> tuple[list[dict[str, Any]], dict[str, ndarray]]:
    """Returns the payloads of the pinned tools that fit, with their arrays as `pinI.NAME`."""
    found: list[dict[str, Any]] = []
    all_arrays: dict[str, ndarray] = {}
    for tool in (tool for key in view.state.lab.pins for tool in among if tool.key == key):
        header, arrays = _content(view, tool, (ValueError, *errors))
        all_arrays |= {f"pin{len(found)}.{name}": array for name, array in arrays.items()}
        found.append(header)
    return found, all_arrays


def _content(view: View, tool: Tool, errors: tuple[type[Exception], ...]) -> tuple[dict[str, Any], dict[str, ndarray]]:
    if view.state.hides_answer and (tool.thing == "answer" or tool.name in REVEALS):
        return {"key": tool.key, "message": _("Guess first.")}, {}
    try:
        header, arrays = tool.content(view, tool)
    except errors as error:
        header, arrays = {"message": sentence(str(error))}, {}
    return {"key": tool.key, **header}, arrays
