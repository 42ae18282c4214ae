"""The tools of the Lab in their order, of app/content/tools.py and of the modules here, each with a list TOOLS."""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from numpy import ndarray

from app.content import tools
from app.content.tool import Tool
from app.lab.view import View
from app.server.limits import LimitError
from models.storage.checkpoint import CheckpointError

# names of tools, in the order in which the inspector lists the tools of a thing
ORDER = ("looks", "why", "feeds", "corpus", "mean", "entropy", "alike", "gates", "forget", "find", "fewest", "order",
         "papa", "length", "scale", "memory", "second", "card", "who", "lens", "loss", "wholooks", "swapw", "hide",
         "carry", "align", "own", "cont", "list", "get")
TOOLS: list[Tool] = sorted([*tools.TOOLS, *(
    tool for module in iter_modules(__path__) for tool in import_module(f"{__name__}.{module.name}").TOOLS)],
    key=lambda tool: ORDER.index(tool.name))
FIRST_TOOLS = tools.first_tools(TOOLS)
ERRORS = (LimitError, CheckpointError)  # the visitor's limit does not allow it, or a stored measurement is damaged


def act(event: dict[str, Any]) -> None:
    """Passes the event of a tool's own control to the tool."""
    tool = next((tool for tool in TOOLS if tool.key == event.get("tool")), None)
    if tool is not None and tool.act is not None:
        tool.act(event)


def offered(view: View) -> list[Tool]:
    """Returns the tools that fit the view's model and text."""
    return [tool for tool in TOOLS if tool.fits(view)]


def content(view: View, among: list[Tool]) -> tuple[dict[str, Any] | None, dict[str, ndarray]]:
    """Returns the payload of the open tool, as app/content/tools.py."""
    return tools.content(view, among, *ERRORS)


def pinned(view: View, among: list[Tool]) -> tuple[list[dict[str, Any]], dict[str, ndarray]]:
    """Returns the payloads of the pinned tools, as app/content/tools.py."""
    return tools.pinned(view, among, *ERRORS)
