"""View: what the Lab shows of a model under a plan. Subclasses run the model."""

import abc
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

import numpy

from app.content.effect import AnyTrace, existing_index, usable
from app.state.lab_view import LAST, AnswerView, LabView
from app.state.selection import Selection
from models import HeadPlan, Kind, Lab, Output
from models.capabilities import Explainable
from models.kind import TEXT
from models.messages import N_
from models.nets.residual import Writes
from models.plan import Address
from models.trace import Layer, Trace, divergence

NO_ANSWER = N_("This text has no prediction.")
T = TypeVar("T")


class computed(Generic[T]):  # noqa: N801  # a decorator
    """A property that is computed when it is first read.

    The one of functools holds a lock of all objects until Python 3.12. A thread that computes may wait for its turn to
    draw while the thread that draws waits for that lock: then no page is ever drawn again.
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        self._function, self._name, self.__doc__ = function, function.__name__, function.__doc__

    def __get__(self, owner: Any, kind: type | None = None) -> T:
        value = owner.__dict__[self._name] = self._function(owner)
        return value


class State(Protocol):
    """The settings that a view depends on, of a visitor (LabState) or of a notebook widget."""

    @property
    def plan(self) -> HeadPlan: ...

    @property
    def selection(self) -> Selection: ...

    @property
    def prediction(self) -> int: ...

    @property
    def lab(self) -> LabView: ...

    @property
    def explanation(self) -> AnswerView: ...

    @property
    def lesson(self) -> object: ...

    @property
    def hides_answer(self) -> bool: ...


class View(abc.ABC):
    """A model under a plan and a selection, with everything that the picture and the tools need.

    Attributes:
        lab: the model.
        state: the settings.
    """

    lab: Lab
    state: State

    @property
    @abc.abstractmethod
    def traces(self) -> tuple[AnyTrace, AnyTrace]:
        """The baseline and the trace under the plan."""

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

    @computed
    def plan(self) -> HeadPlan:
        """The part of the plan that the model can compute."""
        return usable(self.lab, self.state.plan, self.before.prompt)

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

    @computed
    def index(self) -> int:
        """The index of the shown prediction: the chosen prediction, else the last prediction of the text.

        The last prediction of a translation is only its end. If none is chosen outside a lesson, the most changed one
        is shown or, without a change, that of the longest token that begins a word.
        """
        outputs, after = self.before.outputs, self.after.outputs
        if not self.chooses:
            return existing_index(outputs, self.state.prediction)
        if self.changed:
            return int(numpy.argmax([divergence(old, new) for old, new in zip(outputs, after, strict=True)]))
        words = [output.names[output.top()[0]] for output in outputs]
        return max(range(len(words)), key=lambda i: (words[i].startswith(" "), len(words[i])))

    @property
    def chooses(self) -> bool:
        """True if `index` chooses among a decoder's predictions, because neither the visitor nor a lesson has."""
        outputs = self.before.outputs
        is_chosen = 0 <= self.state.prediction < len(outputs) or bool(self.state.lesson)
        return bool(outputs) and not is_chosen and outputs[-1].row != TEXT

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
        trace = self.before if before else self.after
        assert isinstance(trace, Trace)  # a view with sketches computes the layer
        return trace.layer(kind or self.kind.name, self.state.selection.layer if layer is None else layer)

    @property
    def tokens(self) -> tuple[int, int]:
        """The ids of the answer under the plan and of the unmodified model's answer."""
        assert self.output is not None and self.base is not None
        return int(self.output.top()[0]), int(self.base.top()[0])

    @computed
    def formations(self) -> tuple[Writes, Writes]:
        """The formation of the answer in the unmodified model and under the plan; raises ValueError with a reason."""
        if self.output is None:
            raise ValueError(NO_ANSWER)
        after = self._formation(self.after, self.plan)
        return (self._formation(self.before, HeadPlan()) if self.changed else after), after

    def _formation(self, trace: AnyTrace, plan: HeadPlan) -> Writes:
        assert self.output is not None
        kept = trace if isinstance(trace, Trace) and trace.head_outputs else None  # else a sketch, or an imported model
        return Explainable.of(self.lab).writes(trace.prompt, plan, self.output.position, kept)
