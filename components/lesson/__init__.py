"""A step of a lesson: what is told and asked, what is to be done, a tick once it is, and the way to the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

from components.mounting import Content, OnEvent, component


class Stop(TypedDict):
    """A step in the row of all.

    Attributes:
        to: its place, like `constant.3`, which events carry, and a link that opens in a new tab.
        title: its name.
        done: True if the visitor has done it.
    """

    to: str
    title: str
    done: bool


class Asked(TypedDict):
    """A question.

    Attributes:
        ask, choices: texts.
        chosen: the choice that was made, counted from 0; None if none was.
        again: True if the choice was wrong and another one may be tried.
        right: the right one, and `because` its reason, once they may be seen; before, None, and what to do.
    """

    ask: str
    choices: list[str]
    chosen: int | None
    again: bool
    right: int | None
    because: str


@component("lesson")
def lesson(*, key: str, title: str, place: str, stops: Sequence[Stop], heading: str, told: str, task: str, done: bool,
           question: Asked | None, back: str | None, forth: str | None, forth_title: str, teach: bool,
           on_event: OnEvent) -> Content:
    """Draws the step.

    Args:
        title: of the lesson.
        place: which of `stops` this is, by its `to`.
        heading, told, task: of the step; *what stands between stars* is the name of a control.
        done: whether what `task` says has been done.
        question: what it asks, if anything.
        back, forth: where the steps before and after are; None where there is none.
        forth_title: what is written on the way on.
        teach: True for large type, where answers are shown only when asked for.
        on_event: called with one of {type: step, to}, {type: answer, choice: index or null (show it)},
            {type: teach, on}, {type: leave}, each with `sequence`.
    """
    header: dict[str, Any] = {"title": title, "place": place, "stops": list(stops), "heading": heading, "told": told,
                              "task": task, "done": bool(done), "question": question, "back": back, "forth": forth,
                              "forthTitle": forth_title, "teach": bool(teach)}
    return header, {}
