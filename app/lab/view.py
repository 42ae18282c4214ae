"""View: everything that the Lab shows of one state, computed at most once per event."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy

from app import compute
from app.compute import AnyTrace
from app.panels.page.text import Reading
from app.server import caches, limits, serving
from app.state.lab_state import LabState
from app.state.pages.lab_view import LAST
from models import HeadPlan, Kind, Lab, Output
from models.analysis.answer.formation import Formation, formation_of
from models.kind import TEXT
from models.messages import N_
from models.plan import Address
from models.trace import Layer, Trace, divergence

NO_ANSWER = N_("This model makes no prediction for this text.")


@dataclass(frozen=True)
class Kept:
    """A value for the cache that does not know its size in bytes."""

    value: Any
    nbytes: int


@dataclass(frozen=True, eq=False)
class View:
    """A model, a prompt, a plan and a selection, with everything that the picture and the tools need of them.

    Attributes:
        lab: the model.
        reading: the tokenized text, and the reason if the typed text could not be tokenized.
        state: the visitor's state for this model.
    """

    lab: Lab
    reading: Reading
    state: LabState

    @functools.cached_property
    def traces(self) -> tuple[AnyTrace, AnyTrace]:
        """The baseline and the trace under the plan."""
        return compute.traces_of(self.lab, self.reading.prompt, self.state.plan)

    @property
    def before(self) -> AnyTrace:
        """The baseline."""
        return self.traces[0]

    @property
    def after(self) -> AnyTrace:
        """The trace under the plan."""
        return self.traces[1]

    @property
    def changed(self) -> bool:
        """True if the plan changes something."""
        return self.before is not self.after

    @functools.cached_property
    def plan(self) -> HeadPlan:
        """The part of the plan that the model can compute."""
        return compute.usable(self.lab, self.state.plan, self.before.prompt)

    @property
    def kind(self) -> Kind:
        """The attention block of the selected head."""
        return self.lab.kind(self.state.selection.kind)

    @property
    def head(self) -> Address:
        """The address of the selected head."""
        return self.kind.name, self.state.selection.layer, self.state.selection.head

    @property
    def output(self) -> Output | None:
        """The prediction that is shown, under the plan; None if the text has none."""
        return self._shown(self.after)

    @property
    def base(self) -> Output | None:
        """The prediction that is shown, of the unmodified model."""
        return self._shown(self.before)

    def _shown(self, trace: AnyTrace) -> Output | None:
        return trace.outputs[self.index] if trace.outputs else None

    @functools.cached_property
    def index(self) -> int:
        """The index of the shown prediction: the chosen prediction, else the last prediction of the text.

        The last prediction of a translation is only its end. If none is chosen outside a lesson, the most changed one
        is shown or, without a change, that of the longest token that begins a word.
        """
        outputs, after = self.before.outputs, self.after.outputs
        index = compute.existing_index(outputs, self.state.prediction)
        if 0 <= self.state.prediction < len(outputs) or self.state.lesson or outputs[index].row == TEXT:
            return index
        if self.changed:
            return int(numpy.argmax([divergence(old, new) for old, new in zip(outputs, after, strict=True)]))
        words = [output.names[output.top()[0]] for output in outputs]
        return max(range(len(words)), key=lambda i: (words[i].startswith(" "), len(words[i])))

    @property
    def at(self) -> int:
        """The position whose prediction is shown; without predictions, the last position of the queries."""
        if self.output is not None and self.output.row == self.kind.query_row:
            return self.output.position
        return len(self.after.rows[self.kind.query_row]) - 1

    @property
    def look(self) -> int:
        """The position of the looking word among the queries of the selected block."""
        chosen = self.state.lab.look
        return chosen if chosen != LAST and chosen < len(self.after.rows[self.kind.query_row]) else self.at

    def layer(self, before: bool = False, kind: str = "", layer: int | None = None) -> Layer:
        """Returns the whole maps of a layer; of the selected head's layer by default."""
        return compute.layer_of(self.lab, self.before if before else self.after,
                                HeadPlan() if before else self.state.plan, kind or self.kind.name,
                                self.state.selection.layer if layer is None else layer)

    @property
    def tokens(self) -> tuple[int, int]:
        """The ids of the answer under the plan and of the unmodified model's answer."""
        assert self.output is not None and self.base is not None
        return int(self.output.top()[0]), int(self.base.top()[0])

    @functools.cached_property
    def formations(self) -> tuple[Formation, Formation]:
        """The formation of the answer in the unmodified model and under the plan; raises ValueError with a reason."""
        if self.output is None:
            raise ValueError(NO_ANSWER)
        after = self._formation(self.after, self.plan)
        return (self._formation(self.before, HeadPlan()) if self.changed else after), after

    def _formation(self, trace: AnyTrace, plan: HeadPlan) -> Formation:
        assert self.output is not None
        key = trace.prompt, plan, self.output.position
        cache = caches.formations.of(self.lab)
        cached = cache.find(key)
        if cached is None:
            if isinstance(trace, Trace) and trace.head_outputs:
                cached = formation_of(self.lab, *key, trace)
            else:  # a sketch, or an imported model
                with self._passes(1):
                    cached = formation_of(self.lab, *key)
            cache.keep(key, cached)
        return cached

    @contextlib.contextmanager
    def _passes(self, count: int) -> Iterator[None]:
        """Counts passes against the visitor's limit and waits for a turn."""
        limits.spend(limits.PASSES, count * limits.passes_of(self.reading.prompt))
        with serving.computing():
            yield

    def remembered(self, name: str, given: tuple[Any, ...], make: Callable[[], Any], passes: int = 1) -> Any:
        """Returns a cached result; computing it counts as passes against the visitor's limit."""
        key = (name, self.lab.identity, *given)
        cached = caches.answers.find(key)
        if cached is None:
            with self._passes(passes):
                cached = make()
            caches.answers.keep(key, cached)
        return cached
