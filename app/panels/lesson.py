"""The open step of a lesson: text, question, task, and the tick when the step is completed."""

from collections.abc import Sequence
from typing import Any

from app import compute
from app.state import lessons, session, visit
from app.state.lab_state import SHOWN, LabState
from app.state.lessons import CHOICES, ORDER, Condition, Lesson, Outcome, Place, Question
from app.texts import _
from models import Output


def content(state: LabState, results: Outcome) -> dict[str, Any] | None:
    """Returns the step for components/lab/lesson.js, and ticks the step if its condition is met; None outside lessons.

    Returns:
        number and title of the lesson; place, the address of the step; steps, [{to, title, done}]; heading, text and
        task, in which names of controls are between asterisks; done; question, as `_question` returns it, or None;
        count, (number of changed heads, required number) or None; back and forth, addresses or None; needs, uses_text.
    """
    place = state.lesson
    if place is None:
        return None
    this_lesson, step, ticked = lessons.lesson(place.lesson), lessons.step_at(place), visit.current().ticked
    if step.done.holds(state, results):
        ticked.add(place)
    back, forth = lessons.after(place, -1), lessons.after(place)
    return {"number": ORDER.index(place.lesson) + 1, "title": _(this_lesson.title), "place": str(place),
            "steps": _step_links(this_lesson, ticked), "heading": _(step.title), "text": _(step.text),
            "task": _(step.task), "done": place in ticked, "count": step.done.count(state),
            "question": _question(step.question, state, place, results) if step.question else None,
            "back": str(back) if back else None, "forth": str(forth) if forth else None,
            "forth_title": _("Next") if forth is None or forth.lesson == place.lesson else _("Next lesson"),
            "needs": step.needs, "uses_text": step.uses_text}


def outcome(state: LabState, after: Sequence[Output] = (), before: Sequence[Output] = ()) -> Outcome:
    """Returns the results that a step's condition can test, of the predictions under the plan and unmodified."""
    question = lessons.step_at(state.lesson).question if state.lesson else None
    is_right = None
    if question is not None and state.answer not in ("", SHOWN):
        is_right = CHOICES.index(state.answer) == question.right
    return Outcome(_label(after, state), _label(before, state), is_right)


def _label(outputs: Sequence[Output], state: LabState) -> str:
    if not outputs:
        return ""
    output = compute.shown_output(outputs, state.prediction)
    return output.names[output.top()[0]]


def _step_links(this_lesson: Lesson, ticked: set[Place]) -> list[dict[str, Any]]:
    places = [Place(this_lesson.key, number) for number in range(1, len(this_lesson.steps) + 1)]
    return [{"to": str(place), "title": _(step.title), "done": place in ticked}
            for place, step in zip(places, this_lesson.steps, strict=True)]


def _question(question: Question, state: LabState, place: Place, results: Outcome) -> dict[str, Any]:
    """Returns {ask, choices, chosen, again, right, because} for the browser.

    The right answer and the explanation are sent only after the step is completed or the visitor has requested them.
    After a wrong answer the visitor can choose again, if the right answer is the step's only condition.
    """
    answer = state.answer
    may_show_answer = session.may_show_answer(place, answer)
    is_only_condition = lessons.step_at(place).done == Condition("right", True)
    again = results.is_right is False and not may_show_answer and is_only_condition
    hint = ""
    if again:
        hint = _("Not this one: choose again.")
    elif answer:
        hint = _("Now try it: did you guess right?")
    return {"ask": _(question.ask), "choices": [_(choice) for choice in question.choices],
            "chosen": CHOICES.index(answer) if answer not in ("", SHOWN) else None, "again": again,
            "right": question.right if may_show_answer else None,
            "because": _(question.because) if may_show_answer else hint}
