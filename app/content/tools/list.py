"""What else was likely? The most probable tokens, with their probability and rank before the change."""

from app.content.tool import Tool
from app.content.view import View
from app.texts import N_
from components.mounting import Content


def content(view: View, tool: Tool) -> Content:
    """The answer's rows are part of the picture."""
    return {}, {}


TOOLS = [Tool("answer.list", N_("What else was likely?"), N_("all choices"), content, tip="probability",
              fits=lambda view: view.output is not None)]
