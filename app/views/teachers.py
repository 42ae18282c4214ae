"""The page for teachers: a printable plan for a class of 45 minutes, with links, questions and answers.

Questions, answers and tasks are read from the lessons, so that the page always agrees with the lessons.
"""

import re
from dataclasses import dataclass

import streamlit as st

from app.markdown import plain
from app.panels import frame
from app.state import session
from app.state.lessons import CHOICES, Place, lesson, step_at
from app.texts import ENGLISH, N_, _


@dataclass(frozen=True)
class Part:
    """A part of the class."""

    minutes: int  # duration in minutes
    title: str  # the title, in a few words
    what: str  # what the teacher and the class do
    steps: tuple[Place, ...] = ()  # the steps of lessons that this part uses


PLAN = (
    Part(5, N_("A model that looks back"),
         N_("On the first page, the class guesses what a missing head changes. Press *Switch this head off*, then "
            "*Switch the whole layer off*: why does only one change the word?")),
    Part(15, N_("One head, four heads"),
         N_("Use large type. For each step: read the question, let the class vote, then do the task."),
         (Place("gates", 1), Place("gates", 2), Place("gates", 3), Place("gates", 4))),
    Part(12, N_("What a translator needs"),
         N_("The same in pairs, with the code of *Share*. Each pair reads its translation aloud before the answer is "
            "shown."),
         (Place("translation", 1), Place("translation", 3), Place("translation", 5))),
    Part(10, N_("Own texts"),
         N_("In the *Lab*, each pair types a sentence, finds a head with a job, prunes it, and sends you the link "
            "(*Share*).")),
    Part(3, N_("What we know now"), N_("The last question, without devices."), (Place("gates", 7),)),
)
WITHOUT = (
    N_("Without a projector: one phone or laptop for two or three students; write the links on the board."),
    N_("Without the internet: `make app` with `ADDRESS=0.0.0.0` on one laptop serves a network."),
)


def page() -> None:
    frame.in_one_column(_draw)


def _draw() -> None:
    with st.container(key="teachers"):  # style.css leaves out the header in print
        st.markdown("#### " + _("A class of {n} minutes", n=sum(part.minutes for part in PLAN)))
        st.markdown(_("For students who know what a probability is. Printed (Ctrl+P), the answers are unfolded."))
        base = address()
        begin = 0
        for number, part in enumerate(PLAN, 1):
            st.markdown("##### " + _("{number}. {title} (minutes {begin} to {end})", number=number,
                                     title=plain(_(part.title)), begin=begin, end=begin + part.minutes))
            st.markdown(_(part.what))
            for place in part.steps:
                _step(place, base)
            begin += part.minutes
        st.markdown("##### " + _("If something is missing"))
        st.markdown("\n".join(f"- {_(text)}" for text in WITHOUT))


def _step(place: Place, base: str) -> None:
    step, this_lesson = step_at(place), lesson(place.lesson)
    language = session.history().present.language
    link = f"{base}?lesson={place}&teach=1" + ("" if language == ENGLISH else f"&lang={language}")
    lines = [f"**{plain(_(this_lesson.title))} {place.step}: {plain(_(step.title))}** · [{plain(link)}]({link})",
             _("Task: {task}", task=re.sub(r"[\[\]]", "", _(step.task)))]  # brackets around keys
    if step.question is not None:
        choices = ", ".join(f"({letter}) {_(choice)}" for letter, choice in zip(CHOICES, step.question.choices,
                                                                                 strict=False))
        lines.append(_("Question: {ask} {choices}", ask=_(step.question.ask), choices=choices))
    st.markdown("\n".join(f"- {line}" if index else line + "\n" for index, line in enumerate(lines)))
    if step.question is not None:  # folded, because a class may see the page
        with st.expander(_("Answer and reason")):
            st.markdown(f"**({CHOICES[step.question.right]})** {_(step.question.because)}")


def address() -> str:
    """Returns the app's address without a query, for links that are printed; empty if Streamlit does not report it."""
    url = (st.context.url or "").split("?")[0].split("#")[0]
    return f"{url.rstrip('/')}/" if url else ""

