"""The panel of a lesson's step, beside the page: explanation, task, question, and a tick when the step is completed."""

from __future__ import annotations

from app import compute
from app.panels.page.text import Reading
from app.state import session, visit
from app.state.handlers import lesson_events
from app.state.lab_state import PAGES, SHOWN, LabState
from app.state.lessons.conditions import Condition, Outcome
from app.state.lessons.lesson_files import CHOICES, Lesson, Place, Question, after, lesson, step_at
from app.texts import _
from components.lesson import PageButton, QuestionView, StepLink
from components.lesson import lesson as panel
from components.mounting import Part
from models import Lab, Output


def parts(lab: Lab, reading: Reading, state: LabState) -> list[Part]:
    """Returns the panel of the open lesson's step; assets/style.css places it beside the page or above it.

    Args:
        lab: the page's model.
        reading: the tokenized text.
        state: the visitor's state.

    Returns:
        The component in a list; an empty list outside lessons.
    """
    return [] if state.lesson is None else [part(state.lesson, state, outcome(lab, reading, state))]


def part(place: Place, state: LabState, results: Outcome) -> Part:
    """Returns the panel of a step, and ticks the step if its condition is met.

    Args:
        place: the step.
        state: the visitor's state.
        results: the results of this state that conditions can test.

    Returns:
        The component.
    """
    this_lesson, step = lesson(place.lesson), step_at(place)
    ticked = visit.current().ticked
    if step.done.holds(state, results):
        ticked.add(place)
    back, forth = after(place, -1), after(place)
    return panel.part(
        key="lesson", title=_(this_lesson.title), place=str(place), steps=_step_links(this_lesson, ticked),
        heading=_(step.title),
        text=_(step.text), task=_(step.task), done=place in ticked, back=str(back) if back else None,
        question=_question(step.question, state.answer, place, results) if step.question else None,
        count=step.done.count(state), page_button=_page_button(step.done, state),
        forth=str(forth) if forth else None, forth_title=_forth(place, forth), teach=state.teach,
        guesses=step.question is not None and step.done not in (Condition("answered", True), Condition("right", True)),
        on_event=lesson_events.on_lesson)


def _page_button(done: Condition, state: LabState) -> PageButton | None:
    """Returns the page that the step's condition requires, for a button in the panel; None if this page is open."""
    page = done.value_of("page")
    return {"page": page, "title": _(PAGES[page])} if page and page != state.page else None


def outcome(lab: Lab, reading: Reading, state: LabState) -> Outcome:
    """Returns the results that a step's condition can test.

    Args:
        lab: the page's model.
        reading: the tokenized text.
        state: the visitor's state.

    Returns:
        The top-1 predictions of the baseline and under the plan, and whether the visitor's answer is right.
    """
    question = step_at(state.lesson).question if state.lesson else None
    is_right = None
    if question is not None and state.answer not in ("", SHOWN):
        is_right = CHOICES.index(state.answer) == question.right
    before, under = compute.traces_of(lab, reading.prompt, state.for_model(lab.name).plan)
    return Outcome(_label(under.outputs, state.prediction), _label(before.outputs, state.prediction), is_right)


def _label(outputs: tuple[Output, ...], index: int) -> str:
    if not outputs:
        return ""
    output = compute.shown_output(outputs, index)
    return output.names[output.top()[0]]


def _step_links(this_lesson: Lesson, ticked: set[Place]) -> list[StepLink]:
    places = [Place(this_lesson.key, number) for number in range(1, len(this_lesson.steps) + 1)]
    return [{"to": str(place), "title": _(step.title), "done": place in ticked}
            for place, step in zip(places, this_lesson.steps, strict=True)]


def _question(question: Question, answer: str, place: Place, results: Outcome) -> QuestionView:
    """Returns the question for the browser.

    The right answer and the explanation are sent only after the step is completed or the visitor has requested them.
    After a wrong answer the visitor can choose again, if the right answer is the step's only condition.
    """
    may_show_answer = session.may_show_answer(place, answer)
    again = results.is_right is False and not may_show_answer and step_at(place).done == Condition("right", True)
    hint = ""
    if again:
        hint = _("Not this one: choose again.")
    elif answer:
        hint = _("Now try it: you will see whether you guessed right.")
    return {"ask": _(question.ask), "choices": [_(choice) for choice in question.choices],
            "chosen": CHOICES.index(answer) if answer not in ("", SHOWN) else None, "again": again,
            "right": question.right if may_show_answer else None,
            "because": _(question.because) if may_show_answer else hint}


def _forth(place: Place, forth: Place | None) -> str:
    if forth is None or forth.lesson == place.lesson:
        return _("Next")
    return _("Next lesson")
