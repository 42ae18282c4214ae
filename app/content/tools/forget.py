"""Which words are forgotten? The mask F of selective attention for the looking word."""

from app.content.tool import Tool
from app.content.view import View
from app.texts import N_
from components.mounting import Content
from models.trace import Trace


def content(view: View, tool: Tool) -> Content:
    """The mask's row is part of the picture."""
    return {}, {}


TOOLS = [Tool("layer.forget", N_("Which words are forgotten?"), N_("mask F"), content, tip="mask",
              fits=lambda view: isinstance(view.after, Trace) and view.after.mask is not None)]
