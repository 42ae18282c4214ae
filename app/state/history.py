"""History: one visitor's current and earlier states, with undo and redo."""

import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from app.state.lab_state import LabState, example_text
from models import catalogue

MAX_STEPS = 200  # largest number of states in the undo list
MAX_HELD = 400_000  # largest size in bytes of all texts in one list of states, which keeps its newest state
MAX_FAMILIES = 8  # number of model families whose last state is stored
MERGE_SECONDS = 3.0  # changes with the same merge name within this many seconds are one undo step


def fits(kept: Iterable[str]) -> bool:
    """Returns True for at most one text, and for texts of at most MAX_HELD bytes. A shared text counts once."""
    texts = {id(text): text for text in kept}.values()
    return len(texts) < 2 or sum(map(sys.getsizeof, texts)) <= MAX_HELD


@dataclass
class History:
    """One visitor's states."""

    present: LabState = field(default_factory=LabState)  # the state on screen
    # messages about parts of the opened link that could not be parsed; cleared by the next change
    problems: list[str] = field(default_factory=list)
    past: list[LabState] = field(default_factory=list)  # earlier states, for undo; the latest is last
    future: list[LabState] = field(default_factory=list)  # undone states, for redo; the next is last
    push: bool = False  # True if the browser must add an entry to its history for this change
    # task -> the last text that could be tokenized; used while the current text cannot be tokenized
    readable: dict[str, str] = field(default_factory=dict)
    # task -> the last state whose model belongs to this task's family
    left: dict[str, LabState] = field(default_factory=dict)
    # fields of a link to an external model that must be opened first; empty without such a link
    wanted: dict[str, str] = field(default_factory=dict)
    _merging: str = ""
    _changed: float = field(default=0.0, compare=False)

    def last_readable(self, model: str) -> str:
        """Returns the last text that could be tokenized for a model's task, else the model's example."""
        return self.readable.get(catalogue.find(model).task.name, example_text(model))

    def remember_readable(self, task: str, text: str) -> None:
        """Stores the last text that could be tokenized for a task; keeps the texts of at most MAX_FAMILIES tasks."""
        self.readable.pop(task, None)
        self.readable[task] = text
        while len(self.readable) > MAX_FAMILIES or not fits(self.readable.values()):
            self.readable.pop(next(iter(self.readable)))

    def go_to_model(self, name: str, merge: str = "") -> None:
        """Changes the model; returning to a family restores its text, plan and other fields. `merge` as in `do`."""
        # imported here, because app.state.link imports modules that History must not depend on
        from app.state.link import returning

        last = self.left.get(catalogue.find(name).task.name)
        self.left[catalogue.find(self.present.model).task.name] = self.present
        while len(self.left) > MAX_FAMILIES or not fits(state.text for state in self.left.values()):
            self.left.pop(next(iter(self.left)))
        self.do(returning(self.present, last, name), merge)

    def do(self, state: LabState, merge: str = "") -> None:
        """Makes `state` present: an undo step unless only the selection differs or it continues a `merge`."""
        if state == self.present:
            return
        # a change of the selection alone is not an undo step
        if replace(state, selection=self.present.selection) == self.present:
            self.present, self.problems, self._merging = state, [], ""
            return
        now = time.monotonic()
        if not merge or merge != self._merging or now - self._changed > MERGE_SECONDS:
            self.past = [*self.past, self.present][-MAX_STEPS:]
            while not fits(old.text for old in self.past):
                self.past.pop(0)
            self.push = True
        self.present, self.future, self.problems, self._merging, self._changed = state, [], [], merge, now

    def settle(self) -> None:
        """Makes the next change a separate undo step, even if its merge name is the same."""
        self._merging = ""

    def speak(self, language: str) -> None:
        """Changes the language without an undo step, because the experiment stays the same."""
        self.present = replace(self.present, language=language)

    def undo(self) -> None:
        """Restores the state before the last step; keeps the current language."""
        if self.past:
            self._go(self.past, self.future)

    def redo(self) -> None:
        """Restores the state that was undone last; keeps the current language."""
        if self.future:
            self._go(self.future, self.past)

    def _go(self, source: list[LabState], other: list[LabState]) -> None:
        other.append(self.present)
        state = replace(source.pop(), language=self.present.language)
        self.present, self.problems, self._merging, self.push = state, [], "", True

    def open(self, state: LabState, problems: list[str]) -> None:
        """Opens the state of a link, without a new entry in the browser's history."""
        self.do(state)
        self.problems, self.push = problems, False

    def begin(self, state: LabState, problems: list[str]) -> None:
        """Opens the state of a link as the first state of the session and clears undo and redo."""
        self.open(state, problems)
        self.past.clear()
        self.future.clear()
