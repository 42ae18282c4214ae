"""Which words surprised it? The loss of each token, with the loss before the change."""

from app.content.tool import Tool
from app.content.view import View
from app.texts import N_
from components.mounting import Content


def content(view: View, tool: Tool) -> Content:
    """The losses are part of the picture."""
    return {}, {}


def _fits(view: View) -> bool:
    return view.before.vectors is None and view.before.loss == view.before.loss


TOOLS = [Tool("word.loss", N_("How surprising was it?"), N_("loss per token"), content, tip="loss", fits=_fits),
         Tool("answer.loss", N_("Which words surprised it?"), N_("loss per token"), content, tip="loss", fits=_fits)]
