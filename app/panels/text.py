"""The tokenized text of the Lab, and what the page says about it."""

import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app import compute
from app.state import events, visit
from app.state.fields import MAX_LINK_TEXT
from app.state.history import History
from app.state.lab_state import LabState
from app.texts import _
from models import Lab
from models.capabilities import ReadsPictures
from models.errors import InputError
from models.prompt import LONGEST_TEXT, Prompt

EXCERPT = 28  # number of characters shown on either side of an error
MOST_LETTERS = 2000  # largest number of characters whose script is checked
OTHER_LETTERS = 0.2  # fraction of non-Latin letters above which a text counts as another script
EXAMPLE = Path(__file__).parents[2] / "assets" / "picture.png"  # the input of a vision model without a chosen picture
LATIN = ("LATIN", "MODIFIER LETTER", "FEMININE ORDINAL", "MASCULINE ORDINAL")


@dataclass(frozen=True)
class Reading:
    """The tokenized text of a page."""

    prompt: Prompt  # tokens of the text in the box, or of the last text that could be tokenized
    shown: str  # the text that `prompt` was tokenized from
    limit: int  # maximum number of tokens on the page
    # the reason why the text in the box could not be tokenized; None if there was no error
    error: InputError | None = None


def read(lab: Lab, history: History, text: str, limit: int | None = None) -> Reading:
    """Returns the tokenized text, or the last valid text of the model's task if this text cannot be tokenized."""
    limit = limit or lab.limit
    if lab.task.sees:
        return _picture(lab, limit)
    try:
        prompt = _with_source(lab, compute.read(lab, text, limit, history.present.target), history.present, limit)
    except InputError as error:
        last = history.last_readable(lab.name)
        return Reading(compute.read(lab, last, limit), last, limit, error)
    history.remember_readable(lab.task.name, text)
    return Reading(prompt, text, limit)


def _with_source(lab: Lab, prompt: Prompt, state: LabState, limit: int) -> Prompt:
    """Adds the second prompt if the plan patches heads. Without a fitting second prompt, pages ignore the patches."""
    if not (state.source and state.plan.patches):
        return prompt
    try:
        return prompt.with_source(compute.read(lab, state.source, limit))
    except ValueError:  # the section Two prompts gives the reason
        return prompt


def read_picture(lab: Lab, of: str = "") -> Prompt:
    """Returns the visitor's picture for this model or `of`, or the example, as a prompt; may raise InputError."""
    chosen = visit.picture(of or lab.name)
    return ReadsPictures.of(lab).read_picture(EXAMPLE.read_bytes() if chosen is None else chosen)


def _picture(lab: Lab, limit: int) -> Reading:
    try:
        return Reading(read_picture(lab), "", limit)
    except InputError as error:
        visit.set_picture(lab.name, None)
        return Reading(read_picture(lab), "", limit, error)


def hints(lab: Lab, prompt: Prompt, text: str) -> list[str]:
    """Returns remarks about a text that the model can read but was hardly trained for."""
    hinted = [_(prompt.hint)] if prompt.hint else []
    if lab.task.only_english and is_foreign(text):
        hinted.append(_("this model was trained on English only"))
    if lab.task.only_english and is_capitals(text):
        hinted.append(_("hardly any training text was in capitals"))
    return hinted


def actions(lab: Lab, reading: Reading, state: LabState) -> list[dict[str, Any]]:
    """Returns the buttons below a text without error: name, label and, for a switch, `pressed` and a tip."""
    buttons: list[dict[str, Any]] = []
    if lab.task.writes and not (state.chat or reading.prompt.omitted) and state.text[-1:].isspace():
        buttons.append({"name": events.TRIM, "label": _("Remove the space")})
    if lab.task.chats:
        buttons.append({"name": events.CHAT, "label": _("Chat template"), "pressed": state.chat, "tip": _(
            "The template adds the tokens that were around a user's message in training.")})
    return buttons


def excerpt(text: str, start: int, stop: int) -> tuple[str, str, str]:
    """Returns an excerpt around an error in the text, short enough for one line."""
    stop = max(start, min(stop, start + EXCERPT))
    head = text[max(0, start - EXCERPT):start]
    return ("…" if start > EXCERPT else "") + head, text[start:stop], text[stop:stop + EXCERPT]


def left_out(reading: Reading, lab: Lab, text: str) -> list[str]:
    """Returns messages about the part of a text that exceeds the model's limit."""
    count, is_cut = reading.prompt.omitted, len(text) > LONGEST_TEXT
    if not count and not is_cut:
        return []
    if not count:
        note = _("Only the first {most:,} characters are read.",
                 most=LONGEST_TEXT)
    elif lab.task.cuts_oldest:
        note = _("This model reads {limit} tokens; left out of the oldest turns: {n:,}.", n=count, limit=reading.limit)
    elif is_cut:
        note = _("This model reads {limit} tokens; left out at the end: over {n:,}.", n=count, limit=reading.limit)
    else:
        note = _("This model reads {limit} tokens; left out at the end: {n:,}.", n=count, limit=reading.limit)
    return [note, *([_("The link contains only this part.")] if len(text) > MAX_LINK_TEXT else [])]


def is_capitals(text: str) -> bool:
    """Returns True if the text is entirely in capitals and has two or more words of several letters."""
    return text.isupper() and sum(len(word) > 1 for word in text.split()) > 1


def is_foreign(text: str) -> bool:
    """Returns True if more than OTHER_LETTERS of a text's letters are not Latin."""
    letters = [sign for sign in text[:MOST_LETTERS] if sign.isalpha()]
    others = sum(not unicodedata.name(sign, "").startswith(LATIN) for sign in letters)
    return others > OTHER_LETTERS * len(letters)
