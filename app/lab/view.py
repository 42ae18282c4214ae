"""View: everything that the Lab shows of a visitor's state, computed at most once per event; the present view."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from app import compute
from app.compute import AnyTrace
from app.content import view
from app.panels import text
from app.server import caches, limits, serving
from app.server.limits import LimitError
from app.state import visit
from app.state.lab_state import LabState
from models import HeadPlan, Lab
from models.labs.foreign import ForeignError
from models.nets.residual import Writes
from models.storage.checkpoint import CheckpointError
from models.trace import Layer, Trace

ERRORS = (CheckpointError, ForeignError, LimitError, ValueError)  # the page shows the reason when it is drawn again


@dataclass(frozen=True, eq=False)
class View(view.View):
    """A view whose results are cached, and count against the visitor's limits."""

    lab: Lab  # the model
    reading: text.Reading  # the tokenized text, and the reason if the typed text could not be tokenized
    state: LabState  # the visitor's state for this model

    @view.computed
    def traces(self) -> tuple[AnyTrace, AnyTrace]:
        return compute.traces_of(self.lab, self.reading.prompt, self.state.plan)

    def layer(self, before: bool = False, kind: str = "", layer: int | None = None) -> Layer:
        return compute.layer_of(self.lab, self.before if before else self.after,
                                HeadPlan() if before else self.state.plan, kind or self.kind.name,
                                self.state.selection.layer if layer is None else layer)

    def _formation(self, trace: AnyTrace, plan: HeadPlan) -> Writes:
        assert self.output is not None
        compute_formation = super()._formation

        def make() -> Writes:
            has_outputs = isinstance(trace, Trace) and trace.head_outputs
            with contextlib.nullcontext() if has_outputs else self._passes(1):  # a sketch, or an imported model
                return compute_formation(trace, plan)

        return caches.formations.of(self.lab).get((trace.prompt, plan, self.output.position), make)

    @contextlib.contextmanager
    def _passes(self, count: int) -> Iterator[None]:
        """Counts passes against the visitor's limit and waits for a turn."""
        limits.spend(limits.PASSES, count * limits.passes_of(self.reading.prompt))
        with serving.computing():
            yield

    def remembered(self, name: str, given: tuple[Any, ...], make: Callable[[], Any], passes: int = 1) -> Any:
        """Returns a cached result; computing it counts as passes against the visitor's limit."""
        def run() -> Any:
            with self._passes(passes):
                return make()

        return caches.answers.get((name, self.lab.identity, *given), run)


def present_view(state: LabState | None = None) -> View:
    """Returns the view of a state, by default of the present one; raises one of ERRORS if the computation fails."""
    past = visit.current().history
    state = state or past.present
    opened = visit.opened(state.model, state.chat)
    fitting = replace(state.for_model(opened.name), compared=state.compared)  # a tool compares the models
    return View(opened, text.read(opened, past, state.text), fitting)
