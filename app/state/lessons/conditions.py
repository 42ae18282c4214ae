"""Conditions that complete a step of a lesson: tests of the visitor's state and the model's predictions.

A condition is written in JSON: {"constant": 1}, {"all": [{"tool": "answer.lens"}, {"not": {"text": "x"}}]}. Only all,
any, not and the keys of WORDS are valid, so a lesson file cannot run code.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from app.state.pages.lab_view import LabView
from app.state.pages.selection import Selection
from app.state.pages.training_view import TrainingView
from models.plan import HeadPlan


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


COUNTED: Mapping[str, Callable[[HeadPlan], int]] = {
    "constant": lambda plan: sum(head.constant for head in plan.heads.values()),
    "pruned": lambda plan: sum(head.gate == 0 for head in plan.heads.values()),
}
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


def check(entry: Any, where: str) -> Condition:
    if not isinstance(entry, dict) or len(entry) != 1:
        raise ValueError(f"{where}: expected one word with its value, got {entry!r}")
    ((word, value),) = entry.items()
    if word in ("all", "any"):
        if not isinstance(value, list) or not value:
            raise ValueError(f"{where}: {word} takes a list of conditions, got {value!r}")
        return Condition(word, tuple(check(part, where) for part in value))
    if word == "not":
        return Condition(word, check(value, where))
    if word not in WORDS:
        raise ValueError(f"{where}: {word!r} is no condition; there are all, any, not, {', '.join(WORDS)}")
    if type(value) is not WORDS[word].type:
        raise ValueError(f"{where}: {word} takes {WORDS[word].type.__name__}, got {value!r}")
    if word == "plan":
        try:
            HeadPlan.parse(str(value))
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from error
    return Condition(word, value)
