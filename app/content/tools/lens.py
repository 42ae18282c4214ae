"""Guess after each layer? The most probable tokens of the logit lens after each layer."""

from typing import Any

from app.content import parts
from app.content.picture import guesses
from app.content.tool import Tool
from app.content.view import View
from app.state.pages.lab_view import GUESSES
from app.texts import N_, _
from components.mounting import Content


def content(view: View, tool: Tool) -> Content:
    """Returns the most probable tokens after each layer, and the probability of the answer."""
    found = guesses(view)
    token, before = found["token"], found["before"]

    def guess(each: dict[str, Any]) -> list[Any]:
        look = "word answer-word" if each["label"] == token else "word"
        return [parts.word(each["label"], look=look), " ", {"share": each["p"]}]

    rows = [[_("layer {n}", n=layer) if layer else _("the word itself"), *map(guess, row),
             parts.strong({"share": found["chance"][layer]}), *([{"share": before[layer]}] if before else [])]
            for layer, row in enumerate(found["layers"])]
    columns = [_("after"), _("first"), _("second"), _("third"), parts.word(token), *([_("before")] if before else [])]
    about = _("Fifth column: width of the line to the answer.") if GUESSES in view.state.lab.marks else \
        _("Fifth column: the answer's probability.")
    return parts.composed(parts.title(_("What would each layer answer?"), _(
        "logit lens; early layers are approximate")), parts.table(columns, rows), parts.note(about))


TOOLS = [Tool("answer.lens", N_("Guess after each layer?"), N_("logit lens"), content, tip="logit-lens",
              fits=lambda view: view.output is not None)]
