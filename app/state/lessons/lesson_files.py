"""Lessons: files in assets/lessons, read strictly into values. A step says what opens, what is told and asked, what
counts as done, and which facts its words rest on; tests/app/test_lesson_facts.py runs the models on those."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.state.lessons.conditions import Condition, check

FOLDER = Path(__file__).parents[3] / "assets" / "lessons"
ORDER = ("constant", "gates", "synthesizers", "selective", "softmax", "roles")  # the files, as they are taught
CHOICES = "abcd"  # what a link calls a question's choices

_PLACE = re.compile(r"([a-z]+)\.([1-9])", re.ASCII)

Words = str  # to be looked up in the catalogues; *what stands between stars* is the name of a control


@dataclass(frozen=True)
class Place:
    """A step of a lesson, counted from 1: `constant.3` in a link."""

    lesson: str
    step: int

    def __str__(self) -> str:
        return f"{self.lesson}.{self.step}"

    @classmethod
    def parse(cls, text: str) -> Place:
        """The inverse of str(); raises ValueError where there is no such step."""
        match = _PLACE.fullmatch(text)
        if match and match[1] in ORDER and int(match[2]) <= len(lesson(match[1]).steps):
            return cls(match[1], int(match[2]))
        raise ValueError(f"{text!r} is no step of a lesson")


@dataclass(frozen=True)
class Question:
    """What is to be predicted before it is shown.

    Attributes:
        ask: the question.
        choices: two to four answers.
        right: which of them is, counted from 0.
        because: what is told once somebody has answered.
    """

    ask: Words
    choices: tuple[Words, ...]
    right: int
    because: Words


@dataclass(frozen=True)
class Step:
    """One step.

    Attributes:
        title: a few words.
        text: what is told.
        task: what to do.
        opens: the experiment, as fields of a link.
        question: what is asked, if anything is.
        done: what counts as done.
        does: what fulfils it, as fields of a link in place of those of `opens`; with the right answer to the question.
        facts: what the words rest on; tests measure each again.
    """

    title: Words
    text: Words
    task: Words
    opens: Mapping[str, str]
    question: Question | None
    done: Condition
    does: Mapping[str, str]
    facts: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Lesson:
    """One lesson, about one idea.

    Attributes:
        key: its file, and its name in links.
        title, about: for people; `about` is one sentence.
        source: whose idea it is.
        arxiv: numbers of the papers, as arXiv counts them.
        steps: five to nine; the last one asks what the lesson taught.
    """

    key: str
    title: Words
    about: Words
    source: str
    arxiv: tuple[str, ...]
    steps: tuple[Step, ...]


@functools.cache
def lesson(key: str) -> Lesson:
    """A lesson of ORDER; raises ValueError if its file is not as it should be."""
    return read(key, (FOLDER / f"{key}.json").read_text("utf-8"))


def lessons() -> list[Lesson]:
    """All of them, as they are taught."""
    return [lesson(key) for key in ORDER]


def step_at(place: Place) -> Step:
    """The step at a place."""
    return lesson(place.lesson).steps[place.step - 1]


def after(place: Place, by: int = 1) -> Place | None:
    """The step that follows; where a lesson ends, the next one's first; None at the end of all. -1: before it."""
    places = [Place(its.key, number) for its in lessons() for number in range(1, len(its.steps) + 1)]
    index = places.index(place) + by
    return places[index] if 0 <= index < len(places) else None


def read(key: str, text: str) -> Lesson:
    """A lesson from its file's text.

    Raises:
        ValueError: a part is missing, is not known, or is of another type; the message says which.
    """
    try:
        its = _fields(json.loads(text), f"lesson {key}", "title", "about", "source", "arxiv", "steps")
    except json.JSONDecodeError as error:
        raise ValueError(f"lesson {key}: no JSON: {error}") from error
    steps = tuple(_step(each, f"lesson {key}, step {number}") for number, each in enumerate(its["steps"], 1))
    if not 5 <= len(steps) <= 9:
        raise ValueError(f"lesson {key}: expected five to nine steps, got {len(steps)}")
    if steps[-1].question is None:
        raise ValueError(f"lesson {key}: its last step asks nothing")
    if not isinstance(its["source"], str) or not all(isinstance(number, str) for number in its["arxiv"]):
        raise ValueError(f"lesson {key}: source and arxiv are texts")
    return Lesson(key, _words(its["title"], f"lesson {key}, title"), _words(its["about"], f"lesson {key}, about"),
                  its["source"], tuple(its["arxiv"]), steps)


def _step(entry: Any, where: str) -> Step:
    its = _fields(entry, where, "title", "text", "task", "opens", "done", "does", "facts", optional=("question",))
    for part in ("opens", "does"):
        if not isinstance(its[part], dict) or not all(isinstance(value, str) for value in its[part].values()):
            raise ValueError(f"{where}: {part} holds fields of a link, as texts")
    question = _question(its["question"], f"{where}, question") if "question" in its else None
    title, text, task = (_words(its[name], f"{where}, {name}") for name in ("title", "text", "task"))
    return Step(title, text, task, its["opens"], question, check(its["done"], f"{where}, done"), its["does"],
                tuple(its["facts"]))


def _question(entry: Any, where: str) -> Question:
    its = _fields(entry, where, "ask", "choices", "right", "because")
    choices = tuple(_words(choice, f"{where}, choices") for choice in its["choices"])
    if not 2 <= len(choices) <= len(CHOICES):
        raise ValueError(f"{where}: expected two to four choices, got {len(choices)}")
    if type(its["right"]) is not int or not 0 <= its["right"] < len(choices):
        raise ValueError(f"{where}: right counts the choices from 0, got {its['right']!r}")
    return Question(_words(its["ask"], f"{where}, ask"), choices, its["right"],
                    _words(its["because"], f"{where}, because"))


def _fields(entry: Any, where: str, *needed: str, optional: tuple[str, ...] = ()) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise ValueError(f"{where}: expected an object, got {entry!r}")
    missing = [name for name in needed if name not in entry]
    strange = [name for name in entry if name not in (*needed, *optional)]
    if missing or strange:
        raise ValueError(f"{where}: missing {missing}, not known {strange}")
    return entry


def _words(text: Any, where: str) -> Words:
    if not isinstance(text, str) or not text.strip() or text.count("*") % 2:
        raise ValueError(f"{where}: expected a text with stars in pairs, got {text!r}")
    return text
