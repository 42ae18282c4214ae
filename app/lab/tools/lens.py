"""Guess after each layer? The logit lens at the position of the answer."""

from __future__ import annotations

from app.lab.picture import guesses
from app.lab.tool import Tool
from app.lab.view import View
from app.texts import N_
from components.mounting import Content


def content(view: View, tool: Tool) -> Content:
    """Returns the most probable tokens after each layer, and the probability of the answer."""
    return guesses(view), {}


TOOLS = [Tool("answer.lens", N_("Guess after each layer?"), N_("logit lens"), content,
              fits=lambda view: view.output is not None)]
