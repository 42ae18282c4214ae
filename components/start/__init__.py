"""The start page: a sentence, the words that one head looks at, the answer, and a button that prunes the head."""

from collections.abc import Sequence
from typing import Any, TypedDict

from components.mounting import Content, OnEvent, component


class Word(TypedDict):
    """A token with the weight that the head gives it from the last token, 0 to 1."""

    text: str
    weight: float


class Button(TypedDict):
    """A button with the event that it sends."""

    name: str
    event: dict[str, Any]


class Way(TypedDict):
    """A way to go on: title, a line below it, and the event that it sends."""

    title: str
    line: str
    event: dict[str, Any]


@component("start")
def start(*, key: str, title: str, about: str, words: Sequence[Word], answer: str, chance: str, pruned: bool,
          says: str, buttons: Sequence[Button], ways: Sequence[Way], large: bool, on_event: OnEvent) -> Content:
    """Displays the start page.

    Args:
        key: key of the mount.
        title: the question.
        about: the line below it.
        words: the tokens of the sentence.
        answer: the predicted token.
        chance: its probability, in words.
        pruned: True if the head is pruned; its weights are then drawn as computed and not used.
        says: what one sees; words between asterisks are emphasised.
        buttons: the last one is the one to press.
        ways: ways to other pages.
        large: True for large type.
        on_event: called with the events of buttons and ways.
    """
    return {"title": title, "about": about, "words": list(words), "answer": answer, "chance": chance,
            "pruned": bool(pruned), "says": says, "buttons": list(buttons), "ways": list(ways),
            "large": large}, {}
