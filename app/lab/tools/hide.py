"""What if it is hidden? A button per word of a masked model's text turns `sat` into `[sat]`, or restores the word."""

import itertools
import re
import unicodedata
from collections.abc import Collection
from typing import Any

from app.content import parts
from app.content.tool import Tool
from app.lab.view import View
from app.state.handlers import events
from app.state.lab_state import LAST
from app.state.session import history, is_index
from app.texts import N_, _
from components.mounting import Content
from models import catalogue
from models.errors import InputError
from models.tasks.base import Reader
from models.tasks.masked import MASK

KEY = "word.hide"
MOST_WORDS = 80  # largest number of words with a button; the other words can be hidden by typing brackets

# Combining accents and vowel signs, which `\w` does not match. _WORD also contains the joiners between these signs.
_MARKS = "".join(sign for sign in map(chr, range(0x300, 0x11FFF)) if unicodedata.category(sign).startswith("M"))
_WORD = re.compile(rf"\[[^\[\]]+\]|[\w{_MARKS}\u200c\u200d’'-]+")


def content(view: View, tool: Tool) -> Content:
    """Returns the words, hidden ones pressed."""
    return parts.composed(
        parts.title(_("What if it is hidden?"), _("press a word to hide it")),
        parts.row(*(parts.button(word, {"type": "act", "tool": KEY, "word": index}, pressed=is_hidden)
                    for index, (_start, _stop, word, is_hidden) in enumerate(
                        words(view.state.text, view.lab.task.controls)))),
        parts.note(_("Brackets hide a word; [MASK] is an unknown word.")))


def act(event: dict[str, Any]) -> None:
    """Hides a word, or shows it again."""
    state = history().present
    task = catalogue.find(state.model).task
    every = words(state.text, task.controls)
    if task.hides and is_index(event.get("word"), len(every)):
        hidden = {index for index, word in enumerate(every) if word[3]} ^ {event["word"]}
        events.set_text(with_hidden(state.text, hidden, task.controls),
                        prediction=new_prediction(task, state.text, hidden))


def words(text: str, controls: Collection[str] = ()) -> list[tuple[int, int, str, bool]]:
    """Returns (start, stop, word, True if hidden) of each word, without `[MASK]`, which hides an unknown word.

    `controls` are words that the model's tokenizer reads as control tokens, like `[SEP]`; these hide no word.
    """
    known = (m for m in _WORD.finditer(text) if m[0] != MASK and m[0] not in controls)
    return [(m.start(), m.end(), m[0].strip("[]"), m[0].startswith("["))
            for m in itertools.islice(known, MOST_WORDS)]


def with_hidden(text: str, chosen: Collection[int], controls: Collection[str] = ()) -> str:
    """Returns the text with exactly the chosen words in brackets; `chosen`: indices into the result of `words`."""
    parts, last = [], 0
    for index, (start, stop, word, _hidden) in enumerate(words(text, controls)):
        parts += [text[last:start], f"[{word}]" if index in chosen else word]
        last = stop
    return "".join([*parts, text[last:]])


def new_prediction(reader: Reader, text: str, chosen: Collection[int]) -> int:
    """Returns the index of the prediction of the newly hidden word; LAST if no word is newly hidden."""
    new = [i for i, (*_at, hidden) in enumerate(words(text, reader.controls))
           if i in chosen and not hidden]
    if not new:
        return LAST
    changed = with_hidden(text, chosen, reader.controls)
    try:
        return len(reader.read(changed[:words(changed, reader.controls)[new[0]][0]]).predict_at)
    except InputError:  # nothing precedes the word
        return 0


TOOLS = [Tool(KEY, N_("What if it is hidden?"), N_("masking"), content, tip="hidden", act=act,
              fits=lambda view: view.lab.task.hides)]
