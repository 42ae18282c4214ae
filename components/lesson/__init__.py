"""A step of a lesson: text, task with a tick when it is done, question, and links to all steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

from components.mounting import Content, OnEvent, component


class StepLink(TypedDict):
    """A step in the list of all steps.

    Attributes:
        to: address of the step, like `constant.3`, for events and links.
        title: title of the step.
        done: True if the visitor has done the task of the step.
    """

    to: str
    title: str
    done: bool


class QuestionView(TypedDict):
    """A multiple-choice question.

    Attributes:
        ask, choices: the question and the choices, as texts.
        chosen: index of the chosen answer, from 0; None before the first answer.
        again: True if the answer was wrong and another attempt is allowed.
        right: index of the right answer when it may be shown; before that None.
        because: the explanation when it may be shown; before that an instruction.
    """

    ask: str
    choices: list[str]
    chosen: int | None
    again: bool
    right: int | None
    because: str


class PageButton(TypedDict):
    """A button to the page that the task needs: the page's key, for events, and its title."""

    page: str
    title: str


@component("lesson")
def lesson(*, key: str, title: str, place: str, steps: Sequence[StepLink], heading: str, text: str, task: str,
           done: bool,
           question: QuestionView | None, back: str | None, forth: str | None, forth_title: str, teach: bool,
           count: tuple[int, int] | None = None, page_button: PageButton | None = None, guesses: bool = False,
           on_event: OnEvent) -> Content:
    """Displays the step.

    Args:
        key: key of the mount.
        title: title of the lesson.
        place: address of this step, as in `StepLink.to`.
        steps: all steps.
        heading: heading of the step.
        text: the step's text; names of controls are between asterisks.
        task: the instruction, in the same format as `text`.
        done: True if the task is done.
        question: question of the step, or None.
        back: address of the previous step; None for the first step.
        forth: address of the next step; None for the last step.
        forth_title: label of the button to the next step.
        teach: True for the classroom display with large type, in which answers are shown on request.
        count: (number of changed heads, number that the task requires); None if the task requires no number.
        page_button: a button that opens the page which the task needs, or None.
        guesses: True if the question is answered before the task is done.
        on_event: called with one of {type: step, to}, {type: answer, choice: index or null (show it)},
            {type: page, page}, {type: teach, on}, {type: leave}, each with `sequence`.
    """
    header: dict[str, Any] = {"title": title, "place": place, "steps": list(steps), "heading": heading, "text": text,
                              "task": task, "done": bool(done), "question": question, "back": back, "forth": forth,
                              "forthTitle": forth_title, "teach": bool(teach), "count": count,
                              "pageButton": page_button, "guesses": bool(guesses)}
    return header, {}
