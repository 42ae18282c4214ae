"""What counts as done in a lesson: conditions over what a visitor has set and what the model then answers.

A condition is written in JSON: {"constant": 1}, {"all": [{"page": "length"}, {"not": {"length": 64}}]}. The words are
those of WORDS, and no others: a lesson's file cannot run anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from models.plan import HeadPlan

if TYPE_CHECKING:  # a LabState stands at a step of a lesson, which has conditions
    from app.state.lab_state import LabState


@dataclass(frozen=True)
class Outcome:
    """What a lesson can ask of what came of a state.

    Attributes:
        label: the likeliest answer under the plan to the prediction that is shown; empty if there is none.
        trained: the likeliest answer as trained.
        is_right: whether the visitor chose the right answer to the step's question; None before any is chosen.
    """

    label: str = ""
    trained: str = ""
    is_right: bool | None = None


@dataclass(frozen=True)
class Condition:
    """One condition, checked; `word` is one of WORDS, or all, any, not."""

    word: str
    value: Any

    def holds(self, state: LabState, outcome: Outcome) -> bool:
        """Whether a state fulfils it."""
        match self.word:
            case "all":
                return all(part.holds(state, outcome) for part in self.value)
            case "any":
                return any(part.holds(state, outcome) for part in self.value)
            case "not":
                return not self.value.holds(state, outcome)
        return WORDS[self.word].holds(self.value, state, outcome)

    def asks(self, word: str) -> bool:
        """Whether it, or a part of it, is about `word`."""
        parts = self.value if self.word in ("all", "any") else (self.value,) if self.word == "not" else ()
        return self.word == word or any(part.asks(word) for part in parts)


@dataclass(frozen=True)
class Word:
    """A word of a condition: the type of its value, and when it holds of a state and its outcome."""

    type: type
    holds: Callable[[Any, LabState, Outcome], bool]


def _has(plan: str, state: LabState, outcome: Outcome) -> bool:
    return all(state.plan.heads.get(address) == wanted for address, wanted in HeadPlan.parse(plan).heads.items())


def _at(head: str, state: LabState, outcome: Outcome) -> bool:
    return f"{state.selection.layer}.{state.selection.head}" == head


WORDS: Mapping[str, Word] = {
    "page": Word(str, lambda page, state, _: state.page == page),
    "model": Word(str, lambda name, state, _: state.model == name),
    "beside": Word(str, lambda name, state, _: name in state.compared),
    "text": Word(str, lambda text, state, _: state.text == text),
    "contains": Word(str, lambda part, state, _: part in state.text),
    "plan": Word(str, _has),  # each head that the plan's text names is as it says
    "constant": Word(int, lambda n, state, _: n <= sum(head.constant for head in state.plan.heads.values())),
    "pruned": Word(int, lambda n, state, _: n <= sum(head.gate == 0 for head in state.plan.heads.values())),
    "half open": Word(int, lambda n, state, _: n <= sum(0 < head.gate < 1 for head in state.plan.heads.values())),
    "scale": Word(str, lambda policy, state, _: state.plan.scale.policy == policy),
    "head": Word(str, _at),  # the selected one, `layer.head`, counted from 0
    "view": Word(str, lambda view, state, _: state.view == view),
    "section": Word(str, lambda section, state, _: state.section == section),
    "length": Word(int, lambda length, state, _: state.length == length),
    "memory": Word(int, lambda most, state, _: bool(state.budgets) and max(state.budgets) <= most),
    "answered": Word(bool, lambda yes, state, outcome: (outcome.is_right is not None) is yes),
    "right": Word(bool, lambda yes, state, outcome: outcome.is_right is yes),
    "predicts": Word(str, lambda label, state, outcome: outcome.label == label),
    "turned": Word(bool, lambda yes, state, outcome: (outcome.label != outcome.trained) is yes),
}


def check(entry: Any, where: str) -> Condition:
    """A condition from JSON.

    Raises:
        ValueError: it is none; the message says what is wrong, and where.
    """
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
