"""And another model? Models of the same task, to compare on the same text."""

from __future__ import annotations

from app.lab.tool import Tool
from app.lab.view import View
from app.panels.choice import choosing
from app.texts import N_, _
from components.mounting import Content
from models import catalogue

MOST = 6


def _others(view: View) -> list[str]:
    return [name for name in catalogue.family(view.lab.name) if name != view.lab.name][:MOST]


def content(view: View, tool: Tool) -> Content:
    """Returns the models."""
    return {"models": [{"name": entry.name, "title": choosing.name_of(entry), "note": _(entry.line)}
                       for entry in choosing.entries(_others(view))]}, {}


TOOLS = [Tool("all.second", N_("And another model?"), N_("compare"), content, fits=lambda view: bool(_others(view)))]
