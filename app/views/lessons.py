"""The page Lessons: all lessons, with the steps that the visitor has completed."""

from collections.abc import Sequence
from typing import Any

from app.state import events, lessons, visit
from app.state.lab_state import LabState
from app.state.lessons import Lesson, Place
from app.texts import _
from components.mounting import Part


def parts(state: LabState, problems: Sequence[str]) -> list[Part]:
    every = lessons.lessons()
    counts = [len(lesson.steps) for lesson in every]
    following = next((lesson.key for lesson in every if _left(lesson)), "")  # only its button is filled
    return [Part("lessons", "lessons", {
        "about": _("{n} lessons of {least} to {most} steps. Your text and plan come back afterwards.",
                   n=len(counts), least=min(counts), most=max(counts)),
        "cards": [_card(number, lesson, lesson.key == following) for number, lesson in enumerate(every, 1)],
        "problems": [_(problem) for problem in problems]}, on_event=events.on_lessons)]


def _places(lesson: Lesson) -> list[Place]:
    return [Place(lesson.key, step) for step in range(1, len(lesson.steps) + 1)]


def _left(lesson: Lesson) -> list[Place]:
    """Returns the steps that the visitor has not completed."""
    return [place for place in _places(lesson) if place not in visit.current().ticked]


def _card(number: int, lesson: Lesson, follows: bool) -> dict[str, Any]:
    """Returns the card of a lesson, whose button opens the step `to`; `next` fills it."""
    places, left = _places(lesson), _left(lesson)
    done = len(places) - len(left)
    effort = _("About {n} minutes", n=lesson.minutes)
    if done:
        effort = f"{effort} · " + _("{done} of {steps} steps done", done=done, steps=len(places))
    papers = ", ".join(f"arXiv {paper}" for paper in lesson.arxiv)
    return {"title": f"{number}. {_(lesson.title)}", "about": _(lesson.about), "effort": effort,
            "source": f"{lesson.source}. {papers}" if papers else lesson.source,
            "button": _("Go on") if left and done else _("Begin again") if done else _("Begin"),
            "to": str((left or places)[0]), "next": follows}
