"""The page Lessons: a card per lesson."""

from collections.abc import Sequence
from typing import TypedDict

from components.mounting import Content, OnEvent, component


class Card(TypedDict):
    """A lesson. `button` opens the step `to`, and `next` fills it."""

    title: str
    about: str
    effort: str
    source: str
    button: str
    to: str
    next: bool


@component("lessons")
def lessons(*, key: str, about: str, cards: Sequence[Card], problems: Sequence[str], on_event: OnEvent) -> Content:
    """Displays the cards.

    Args:
        key: key of the mount.
        about: the line below the title.
        cards: the lessons in order.
        problems: messages above the page.
        on_event: called with {type: step, to}, {type: teachers} or {type: start}, each with its sequence.
    """
    return {"about": about, "cards": list(cards), "problems": list(problems)}, {}
