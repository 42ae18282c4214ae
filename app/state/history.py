"""History: one visitor's states, and undo and redo among them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from app.state.lab_state import LabState, example_text
from models import catalogue

MAX_STEPS = 200  # states that undo remembers
MAX_HELD = 400_000  # characters of all texts that undo remembers; one of emoji has four bytes each
MAX_FAMILIES = 8  # that are remembered as they were left
MERGE_SECONDS = 3.0  # changes of one kind that follow each other faster are one step of undo


@dataclass
class History:
    """One visitor's states: where they are, and where undo and redo lead.

    Attributes:
        present: the state on screen.
        problems: what the opened link said that could not be read; gone with the next change.
        push: True if the browser should remember the state before as an entry of its own.
        readable: task -> the last text that could be read, whose picture stays while another cannot.
        left: task -> the state in which its family of models was left last.
        wanted: the link that asked for a foreign model which has to be opened first.
    """

    present: LabState = field(default_factory=LabState)
    problems: list[str] = field(default_factory=list)
    past: list[LabState] = field(default_factory=list)
    future: list[LabState] = field(default_factory=list)
    push: bool = False
    readable: dict[str, str] = field(default_factory=dict)
    left: dict[str, LabState] = field(default_factory=dict)
    wanted: dict[str, str] = field(default_factory=dict)
    _merging: str = ""
    _changed: float = field(default=0.0, compare=False)

    def last_readable(self, model: str) -> str:
        """The last text that this model's family could read."""
        return self.readable.get(catalogue.find(model).task.name, example_text(model))

    def remember_readable(self, task: str, text: str) -> None:
        """Keeps the last text that a task could read; of a few tasks, as a text can be long."""
        self.readable.pop(task, None)
        self.readable[task] = text
        while len(self.readable) > MAX_FAMILIES:
            self.readable.pop(next(iter(self.readable)))

    def go_to_model(self, name: str) -> None:
        """Another model. Who comes back to a family finds the text, the plan and all the rest as they were left."""
        from app.state.link import returning  # a link's fields know LabState, and history knows no field

        there = self.left.get(catalogue.find(name).task.name)
        self.left[catalogue.find(self.present.model).task.name] = self.present
        while len(self.left) > MAX_FAMILIES:
            self.left.pop(next(iter(self.left)))
        self.do(returning(self.present, there, name))

    def do(self, state: LabState, merge: str = "") -> None:
        """Goes to a new state.

        Args:
            merge: a name for a run of changes, like the letters of a word or a slider's way, that undo takes
                back at once; the empty string for a change of its own.
        """
        if state == self.present:
            return
        now = time.monotonic()
        if not merge or merge != self._merging or now - self._changed > MERGE_SECONDS:
            self.past = [*self.past, self.present][-MAX_STEPS:]
            while sum(len(old.text) for old in self.past) > MAX_HELD:
                self.past.pop(0)
            self.push = True
        self.present, self.future, self.problems, self._merging, self._changed = state, [], [], merge, now

    def settle(self) -> None:
        """Ends a run of changes: the next one is a step of its own."""
        self._merging = ""

    def speak(self, language: str) -> None:
        """Goes over to another language: no step of undo, for nothing of the experiment changes."""
        self.present = replace(self.present, language=language)

    def undo(self) -> None:
        if self.past:
            self._go(self.past, self.future)

    def redo(self) -> None:
        if self.future:
            self._go(self.future, self.past)

    def _go(self, source: list[LabState], other: list[LabState]) -> None:
        other.append(self.present)
        there = replace(source.pop(), language=self.present.language)
        self.present, self.problems, self._merging, self.push = there, [], "", True

    def open(self, state: LabState, problems: list[str]) -> None:
        """Goes to a link's state: the first one of a visit, or the browser's back and forward."""
        self.do(state)
        self.problems, self.push = problems, False

    def begin(self, state: LabState, problems: list[str]) -> None:
        """Opens a link's state as the first one of a visit: undo ends there."""
        self.open(state, problems)
        self.past.clear()
        self.future.clear()
