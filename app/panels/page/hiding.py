"""Hiding words of a masked model's text by choosing them: `sat` becomes `[sat]`, and back."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable

import streamlit as st

from app.markdown import literal
from app.state import session
from app.state.handlers import events
from app.state.lab_state import LAST
from app.texts import _
from models import catalogue
from models.errors import InputError
from models.tasks.base import Reader
from models.tasks.masked import MASK

# a space of no width that makes labels unique; word joiners, which `literal` uses, could make two labels equal
UNSEEN = "\u200b"
MOST_WORDS = 80  # largest number of words with a button; the other words can be hidden by typing brackets

# Accents and vowel signs that follow their letter, which `\w` does not match, and the joiners between them.
_MARKS = "".join(sign for sign in map(chr, range(0x300, 0x11FFF)) if unicodedata.category(sign).startswith("M"))
_WORD = re.compile(rf"\[[^\[\]]+\]|[\w{_MARKS}\u200c\u200d’'-]+")


def words(text: str, controls: Collection[str] = ()) -> list[tuple[int, int, str, bool]]:
    """Returns (start, stop, word, whether it is hidden) of each word, without `[MASK]`, whose word is unknown.

    Args:
        text: input text.
        controls: words that the model's tokenizer reads as control tokens, `[SEP]` for example; they hide nothing.
    """
    known = (m for m in _WORD.finditer(text) if m[0] != MASK and m[0] not in controls)
    return [(m.start(), m.end(), m[0].strip("[]"), m[0].startswith("["))
            for m in itertools.islice(known, MOST_WORDS)]


def with_hidden(text: str, chosen: Collection[int], controls: Collection[str] = ()) -> str:
    """Returns the text with exactly the chosen words in brackets.

    Args:
        text: as it was typed.
        chosen: indices into the result of `words`.
        controls: as in `words`.

    Returns:
        The text.
    """
    parts, last = [], 0
    for index, (start, stop, word, _hidden) in enumerate(words(text, controls)):
        parts += [text[last:start], f"[{word}]" if index in chosen else word]
        last = stop
    return "".join([*parts, text[last:]])


def labels(found: Iterable[str]) -> list[str]:
    """Returns a unique button label for each word, because Streamlit identifies buttons by their labels.

    Args:
        found: words; a word can occur several times.

    Returns:
        The words as Markdown; repeated words have additional invisible characters.
    """
    shown, before = [], Counter[str]()
    for word in found:
        shown.append(literal(word) + UNSEEN * before[word])
        before[word] += 1
    return shown


def draw(text: str, controls: Collection[str] = ()) -> None:
    """Draws one button per word.

    Args:
        text: as it was typed.
        controls: as in `words`.
    """
    found = words(text, controls)
    shown = labels(word for _start, _stop, word, _hidden in found)
    st.session_state[session.HIDDEN] = [i for i, (*_, hidden) in enumerate(found) if hidden]
    st.pills(_("Hide words"), range(len(found)), selection_mode="multi", key=session.HIDDEN,
             format_func=lambda i: shown[i] if i < len(shown) else "", on_change=on_hidden, args=(text,))


def on_hidden(shown: str) -> None:
    """Handles a click on the buttons.

    Args:
        shown: the text whose words were on the buttons; the text box can already contain a longer text.
    """
    chosen, text = session.widget(session.HIDDEN, list), session.history().present.text
    if chosen is None:
        return
    reader = catalogue.find(session.history().present.model).task
    chosen = carried(shown, text, chosen, reader.controls)
    if chosen is not None:
        events.set_text(with_hidden(text, chosen, reader.controls), asked=newly_asked(reader, text, chosen))


def carried(shown: str, text: str, chosen: Collection[int],
            controls: Collection[str] = ()) -> Collection[int] | None:
    """Returns the hidden words of a text that has grown since the buttons were drawn.

    Args:
        shown: the text whose words were on the buttons.
        text: the current text.
        chosen: indices of the chosen words of `shown`.
        controls: as in `words`.

    Returns:
        `chosen`, and those new words that are in brackets; None if the old words have changed.
    """
    old, new = words(shown, controls), words(text, controls)
    # the last old word is not compared, because it may have grown
    if [its[2] for its in old[:-1]] != [its[2] for its in new[:max(0, len(old) - 1)]]:
        return None
    return [*chosen, *(i for i in range(len(old), len(new)) if new[i][3])]


def newly_asked(reader: Reader, text: str, chosen: Collection[int]) -> int:
    """Returns the index of the prediction for the newly hidden word.

    Args:
        reader: tokenizes the text for the model's task.
        text: the text before the click.
        chosen: indices of the words that are hidden now.

    Returns:
        The index, from 0; LAST if no word is newly hidden.
    """
    new = [i for i, (*_at, hidden) in enumerate(words(text, reader.controls))
           if i in chosen and not hidden]
    if not new:
        return LAST
    changed = with_hidden(text, chosen, reader.controls)
    try:
        return len(reader.read(changed[:words(changed, reader.controls)[new[0]][0]]).asked)
    except InputError:  # nothing precedes the word
        return 0
