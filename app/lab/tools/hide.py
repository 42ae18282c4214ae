"""What if it is hidden? Each word of a masked model's text as a button that hides it."""

from typing import Any

from app.content import parts
from app.content.tool import Tool
from app.lab.view import View
from app.panels.page import hiding
from app.state.handlers import events
from app.state.session import history, is_index
from app.texts import N_, _
from components.mounting import Content
from models import catalogue

KEY = "word.hide"


def content(view: View, tool: Tool) -> Content:
    """Returns the words, hidden ones pressed."""
    words = hiding.words(view.state.text, view.lab.task.controls)
    return parts.composed(
        parts.title(_("What if it is hidden?"), _("press a word to hide it")),
        parts.row(*(parts.button(word, {"type": "act", "tool": KEY, "word": index}, pressed=is_hidden)
                    for index, (_start, _stop, word, is_hidden) in enumerate(words))),
        parts.note(_("Brackets hide a word; [MASK] is an unknown word.")))


def act(event: dict[str, Any]) -> None:
    """Hides a word, or shows it again."""
    state = history().present
    task = catalogue.find(state.model).task
    words = hiding.words(state.text, task.controls)
    if task.hides and is_index(event.get("word"), len(words)):
        hidden = {index for index, word in enumerate(words) if word[3]} ^ {event["word"]}
        events.set_text(hiding.with_hidden(state.text, hidden, task.controls),
                        prediction=hiding.new_prediction(task, state.text, hidden))


TOOLS = [Tool(KEY, N_("What if it is hidden?"), N_("masking"), content, tip="hidden", act=act,
              fits=lambda view: view.lab.task.hides)]
