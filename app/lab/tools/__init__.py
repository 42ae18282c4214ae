"""The tools of the Lab: one module per tool, each with a list TOOLS of values of app/lab/tool.py."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from numpy import ndarray

from app.lab.tool import Tool
from app.lab.view import View
from app.texts import _

# the order in which the inspector lists the tools of a thing
ORDER = ("looks", "why", "feeds", "corpus", "mean", "forget", "find", "order", "length", "scale", "second",
         "who", "lens", "loss", "wholooks", "swapw", "carry", "cont", "list", "get")
TOOLS: list[Tool] = [tool for name in ORDER for tool in import_module(f"{__name__}.{name}").TOOLS]


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
    try:
        header, arrays = tool.content(view, tool)
    except ValueError as error:  # the model or the text does not allow this tool
        header, arrays = {"message": _(str(error))}, {}
    return {"key": tool.key, **header}, arrays
