"""Sharper heads? The factor of the scores of all heads."""

from __future__ import annotations

from app.lab.tool import Tool
from app.lab.view import View
from app.texts import N_
from components.mounting import Content
from models.kind import policies_of


def _policies(view: View) -> list[str]:
    kinds = view.lab.kinds
    return [policy for policy in policies_of(kinds) if any(policy in kind.attention.readings for kind in kinds)]


def content(view: View, tool: Tool) -> Content:
    """Returns the scale policies of the model."""
    return {"policies": _policies(view)}, {}


TOOLS = [Tool("all.scale", N_("Sharper heads?"), N_("scale log n"), content,
              fits=lambda view: len(_policies(view)) > 1)]
