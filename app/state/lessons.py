"""Reads the lessons in assets/lessons and checks their format strictly; tests the conditions that complete a step.

A step has an initial state, a text, a question, a condition, and the facts that the text is based on.
tests/app/test_lesson_screens.py checks these facts with the models. A condition is written in JSON: {"constant": 1},
{"all": [{"tool": "answer.lens"}, {"not": {"text": "x"}}]}. Only all, any, not and the keys of WORDS are valid, so a
lesson file cannot run code.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Protocol

from annotated_types import Len
from pydantic import AfterValidator, ConfigDict, PlainValidator, TypeAdapter, ValidationError, with_config

from app.state.lab_view import LabView
from app.state.selection import Selection
from app.state.training_view import TrainingView
from models.plan import HeadPlan

COUNTED: Mapping[str, Callable[[HeadPlan], int]] = {
    "constant": lambda plan: sum(head.constant for head in plan.heads.values()),
    "pruned": lambda plan: sum(head.gate == 0 for head in plan.heads.values()),
}
FOLDER = Path(__file__).parents[2] / "assets" / "lessons"
ORDER = ("constant", "gates", "translation", "synthesizers", "selective", "lengths", "roles", "writers",
         "swap", "normalisation", "birth")  # file names in teaching order
# The steps of a former lesson, which was split into two lessons; old links open the new steps.
MOVED = {"softmax": (("lengths", 1), ("lengths", 2), ("lengths", 3), ("normalisation", 1), ("normalisation", 3),
                     ("normalisation", 4))}
CHOICES = "abcd"  # letters of a question's choices in links
_PLACE = re.compile(r"([a-z]+)\.([1-9])", re.ASCII)
_STORED = with_config(ConfigDict(extra="forbid", strict=True))  # `read` refuses files with other fields or types


class Settings(Protocol):
    """The settings of a visitor that conditions test. `LabState` has all of them, but imports lessons itself."""

    @property
    def text(self) -> str: ...
    @property
    def plan(self) -> HeadPlan: ...
    @property
    def selection(self) -> Selection: ...
    @property
    def budgets(self) -> tuple[int, ...]: ...
    @property
    def lab(self) -> LabView: ...
    @property
    def training(self) -> TrainingView: ...


@dataclass(frozen=True)
class Outcome:
    """Top-1 tokens of the prediction, under the plan and unmodified, and True if the question was answered rightly."""

    label: str = ""
    trained: str = ""
    is_right: bool | None = None


@dataclass(frozen=True)
class Condition:
    """A word of WORDS with its argument, or all, any, not with the combined conditions."""

    word: str
    value: Any

    def holds(self, state: Settings, outcome: Outcome) -> bool:
        match self.word:
            case "all":
                return all(part.holds(state, outcome) for part in self.value)
            case "any":
                return any(part.holds(state, outcome) for part in self.value)
            case "not":
                return not self.value.holds(state, outcome)
        return WORDS[self.word].holds(self.value, state, outcome)

    def asks(self, word: str) -> bool:
        """Returns True if the condition, or a condition combined in it, uses a word."""
        parts = self.value if self.word in ("all", "any") else (self.value,) if self.word == "not" else ()
        return self.word == word or any(part.asks(word) for part in parts)

    def value_of(self, word: str) -> Any:
        """Returns the first value of a word in the condition, not inside `not`; None if the word does not occur."""
        if self.word in ("all", "any"):
            return next((value for part in self.value if (value := part.value_of(word)) is not None), None)
        return self.value if self.word == word else None

    def count(self, state: Settings) -> tuple[int, int] | None:
        """Returns (number of changed heads, required number) if the condition requires several heads, else None."""
        for word, counted in COUNTED.items():
            wanted = self.value_of(word)
            if wanted is not None and wanted > 1:
                return min(counted(state.plan), wanted), wanted
        return None


@dataclass(frozen=True)
class Word:
    """The definition of a word: the type of its value, and the test (value, state, outcome) -> bool."""

    type: type
    holds: Callable[[Any, Settings, Outcome], bool]


def _has(plan: str, state: Settings, outcome: Outcome) -> bool:
    return all(state.plan.heads.get(address) == wanted for address, wanted in HeadPlan.parse(plan).heads.items())


def _at(head: str, state: Settings, outcome: Outcome) -> bool:
    return f"{state.selection.layer}.{state.selection.head}" == head


def _set(setting: str, state: Settings, outcome: Outcome) -> bool:
    name, _, value = setting.partition("!")
    return state.lab.setting(name) == value


WORDS: Mapping[str, Word] = {
    "text": Word(str, lambda text, state, _: state.text == text),
    "contains": Word(str, lambda part, state, _: part in state.text),
    "plan": Word(str, _has),  # the visitor's plan has the same settings for each head in the value
    "constant": Word(int, lambda n, state, _: n <= COUNTED["constant"](state.plan)),
    "pruned": Word(int, lambda n, state, _: n <= COUNTED["pruned"](state.plan)),
    "half open": Word(int, lambda n, state, _: n <= sum(0 < head.gate < 1 for head in state.plan.heads.values())),
    "head": Word(str, _at),  # address of the selected head, `layer.head`, counted from 0
    "memory": Word(int, lambda most, state, _: bool(state.budgets) and max(state.budgets) <= most),
    "tool": Word(str, lambda tool, state, _: state.lab.tool == tool),  # the open tool, like `answer.lens`
    "setting": Word(str, _set),  # a setting of a tool, like `length.quantity!entropy`
    "training": Word(str, lambda recipe, state, _: str(state.training.recipe) == recipe),
    "answered": Word(bool, lambda yes, state, outcome: (outcome.is_right is not None) is yes),
    "right": Word(bool, lambda yes, state, outcome: outcome.is_right is yes),
    "predicts": Word(str, lambda label, state, outcome: outcome.label == label),
    "turned": Word(bool, lambda yes, state, outcome: (outcome.label != outcome.trained) is yes),
}


def check(entry: Any) -> Condition:
    """Returns the condition that a lesson file states; raises ValueError."""
    if not isinstance(entry, dict) or len(entry) != 1:
        raise ValueError(f"expected one word with its value, got {entry!r}")
    ((word, value),) = entry.items()
    if word in ("all", "any"):
        if not isinstance(value, list) or not value:
            raise ValueError(f"{word} takes a list of conditions, got {value!r}")
        return Condition(word, tuple(map(check, value)))
    if word == "not":
        return Condition(word, check(value))
    if word not in WORDS:
        raise ValueError(f"{word!r} is no condition; there are all, any, not, {', '.join(WORDS)}")
    if type(value) is not WORDS[word].type:
        raise ValueError(f"{word} takes {WORDS[word].type.__name__}, got {value!r}")
    if word == "plan":
        HeadPlan.parse(str(value))
    return Condition(word, value)


def _in_pairs(text: str) -> str:
    if not text.strip() or text.count("*") % 2:
        raise ValueError("expected a text with stars in pairs")
    return text


# a text that gettext translates; *text between asterisks* is the name of a control
Words = Annotated[str, AfterValidator(_in_pairs)]


@dataclass(frozen=True)
class Place:
    """A step of a lesson, counted from 1: `constant.3` in a link."""

    lesson: str
    step: int

    def __str__(self) -> str:
        return f"{self.lesson}.{self.step}"

    @classmethod
    def parse(cls, text: str) -> Place:
        """Parses a step such as `constant.3`; the inverse of str()."""
        match = _PLACE.fullmatch(text)
        if match and int(match[2]) <= len(MOVED.get(match[1], ())):
            return cls(*MOVED[match[1]][int(match[2]) - 1])
        if match and match[1] in ORDER and int(match[2]) <= len(lesson(match[1]).steps):
            return cls(match[1], int(match[2]))
        raise ValueError(f"{text!r} is no step of a lesson")


@_STORED
@dataclass(frozen=True)
class Question:
    """Two to four choices, of which `right` (from 0) is the answer; `because` explains it afterwards."""

    ask: Words
    choices: Annotated[tuple[Words, ...], Len(2, len(CHOICES))]
    right: int
    because: Words

    def __post_init__(self) -> None:
        if not 0 <= self.right < len(self.choices):
            raise ValueError(f"right counts the choices from 0, got {self.right}")


@_STORED
@dataclass(frozen=True)
class Step:
    title: Words  # in a few words
    text: Words
    task: Words  # the instruction for the visitor. Names of keys are between square brackets: touch screens omit them.
    opens: Mapping[str, str]  # the initial state, as fields of a link
    done: Annotated[Condition, PlainValidator(check)]  # the condition that completes the step
    # changes of `opens`, as fields of a link, which together with the right answer meet the condition `done`; for tests
    does: Mapping[str, str]
    facts: tuple[Mapping[str, Any], ...]  # measurable facts that the text is based on; a test measures each fact
    question: Question | None = None  # None if the step has no question

    @property
    def trains(self) -> bool:
        """True for a step on the page Training; all other steps are in the Lab."""
        return "train" in self.opens

    @property
    def needs(self) -> str:
        """The part that the task needs: `tool`, `buttons` (of the heads), or only the `picture`."""
        if "lab" in self.opens and not self.opens["lab"].startswith("head.looks~") or self.done.asks("tool"):
            return "tool"
        return "buttons" if any(map(self.done.asks, ("plan", "constant", "pruned", "half open"))) else "picture"

    @property
    def uses_text(self) -> bool:
        """True if the task changes the text."""
        return self.done.asks("text") or self.done.asks("contains")


@_STORED
@dataclass(frozen=True)
class Lesson:
    """One lesson, about one idea."""

    title: Words
    about: Words  # one sentence that describes the content
    source: str  # authors of the idea
    arxiv: tuple[str, ...]  # arXiv numbers of the papers
    minutes: int  # the time that a beginner needs
    steps: Annotated[tuple[Step, ...], Len(4, 9)]  # the last step has a question about the whole lesson
    key: str = ""  # name of the lesson's file and of the lesson in links, which `read` adds

    def __post_init__(self) -> None:
        if self.steps[-1].question is None:
            raise ValueError("the last step asks nothing")


@functools.cache
def lesson(key: str) -> Lesson:
    return read(key, (FOLDER / f"{key}.json").read_text("utf-8"))


def lessons() -> list[Lesson]:
    """Returns all lessons in teaching order."""
    return [lesson(key) for key in ORDER]


def step_at(place: Place) -> Step:
    return lesson(place.lesson).steps[place.step - 1]


def after(place: Place, by: int = 1) -> Place | None:
    """Returns the next or previous step in the sequence of all steps of all lessons."""
    places = [Place(each.key, number) for each in lessons() for number in range(1, len(each.steps) + 1)]
    index = places.index(place) + by
    return places[index] if 0 <= index < len(places) else None


_FILE = TypeAdapter(Lesson)


def read(key: str, text: str) -> Lesson:
    """Parses the content of a lesson file; raises ValueError with the place of each part that is wrong."""
    try:
        return replace(_FILE.validate_json(text), key=key)
    except ValidationError as error:
        raise ValueError(f"lesson {key}: {error}") from error
