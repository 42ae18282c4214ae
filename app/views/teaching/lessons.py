"""The Lessons page: all lessons, with the steps that the visitor has completed."""

import streamlit as st

from app.markdown import plain
from app.panels.page import frame
from app.state import visit
from app.state.handlers import events, lesson_events
from app.state.lab_state import TEACHERS
from app.state.lessons.lesson_files import LEVELS, Lesson, Place, lessons
from app.texts import _


def page() -> None:
    frame.in_one_column(_draw)


def _draw() -> None:
    st.markdown("#### " + _("Lessons"))
    counts = [len(lesson.steps) for lesson in lessons()]
    st.markdown(_("{n} lessons of {least} to {most} steps. Your text and plan come back afterwards.", n=len(counts),
                  least=min(counts), most=max(counts)))
    with st.container(horizontal=True, vertical_alignment="center", key="teachers"):
        st.button(_("For teachers: a class of 45 minutes"), key="teachers-link", icon=":material/school:",
                  on_click=events.go_to, args=(TEACHERS,))
        st.caption(_("Links, questions and answers to print."))
    with st.container(key="cards"):  # style.css sets as many cards in a row as fit
        following = _following()
        for number, lesson in enumerate(lessons(), 1):
            with st.container(border=True, height="stretch", key=f"lesson-{lesson.key}"):
                _card(number, lesson, lesson.key == following)
    with st.container(horizontal=True):
        st.button(_("Show the first page again"), key="start", on_click=lesson_events.restart)


def _places(lesson: Lesson) -> list[Place]:
    """Returns all steps of a lesson."""
    return [Place(lesson.key, step) for step in range(1, len(lesson.steps) + 1)]


def _left(lesson: Lesson) -> list[Place]:
    """Returns the steps that the visitor has not completed."""
    return [place for place in _places(lesson) if place not in visit.current().ticked]


def _following() -> str:
    """Returns the key of the first lesson with steps left; only its button is filled. Empty if all are completed."""
    return next((lesson.key for lesson in lessons() if _left(lesson)), "")


def _card(number: int, lesson: Lesson, follows: bool) -> None:
    places, left = _places(lesson), _left(lesson)
    done = len(places) - len(left)
    steps = (("" if place in left else "✓ ") + plain(_(step.title))
             for place, step in zip(places, lesson.steps, strict=True))
    links = ", ".join(f"[arXiv {paper}](https://arxiv.org/abs/{paper})" for paper in lesson.arxiv)
    source = f"{plain(lesson.source)}. {links}" if links else plain(lesson.source)
    state = _("About {n} minutes, {level}", n=lesson.minutes, level=_(LEVELS[lesson.level]))
    if done:
        state = f"{state} · " + _("{done} of {steps} steps done", done=done, steps=len(places))
    # Streamlit takes its time for each element, so a card has two
    st.markdown("\n\n".join([f"##### {number}. {plain(_(lesson.title))}", plain(_(lesson.about)),
                            *(f":small[:gray[{line}]]" for line in (state, " · ".join(steps), source))]))
    # style.css moves the button to the lower edge of its card
    st.button(_("Go on") if left and done else _("Begin again") if done else _("Begin"), key=f"take {lesson.key}",
              type="primary" if follows else "secondary", on_click=lesson_events.take_step, args=((left or places)[0],))
