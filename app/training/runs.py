"""The trainings of each visitor, and the queue that all visitors of this process share."""

import functools
import os
import threading
import time
from dataclasses import dataclass, field, replace

from app.server import limits, serving
from app.state import visit
from learning import recorded
from learning.loop import Learning
from learning.recipe import Recipe
from learning.runner import DONE, Run, Runner
from models.labs.foreign.opening import hub

LEFT_SECONDS = 20.0  # seconds without a request of the page after which a visitor's training is stopped
MOST_RUNS = 4  # number of trainings whose moments a visit keeps
RECORDED, NEW = "recorded", "new"  # states of a training without a run
_recording = functools.lru_cache(64)(recorded.recording)
_one_at_a_time = threading.Lock()  # torch's random generator, which sets the initial weights, is global


@dataclass(frozen=True)
class Shown:
    """The moments of a training, and where they come from."""

    state: str  # RECORDED, NEW (the untrained model), or the state of the visitor's run (learning/runner.py)
    moments: list[bytes]  # packed moments, see learning/moment.py
    place: int = 0  # place in the queue; 0 if the run does not wait
    problem: str = ""  # a sentence for the visitor if the run was stopped or failed; else empty


@dataclass(eq=False)
class Trainings:
    """The trainings of one visit."""

    runs: dict[Recipe, Run] = field(default_factory=dict)  # recipe -> the latest run, the newest last
    seen: float = field(default_factory=time.monotonic)  # time of the page's latest request

    @property
    def is_here(self) -> bool:
        """True while the page sends requests, as it does several times per second during a training."""
        return time.monotonic() - self.seen < LEFT_SECONDS

    def start(self, owner: str, recipe: Recipe) -> None:
        """Starts a training and stops the visitor's earlier one; does nothing if this recipe is in training."""
        queue, old = runner(), self.runs.get(recipe)
        if queue is None or (old is not None and not old.is_over):
            return
        limits.spend(limits.TRAININGS)
        self.seen = time.monotonic()
        run = queue.start(owner, recipe, lambda: self.is_here)
        self.runs.pop(recipe, None)
        self.runs[recipe] = run
        while len(self.runs) > MOST_RUNS:
            self.runs.pop(next(iter(self.runs)))

    def stop(self) -> None:
        for run in self.runs.values():
            run.stop()

    def shown(self, recipe: Recipe) -> Shown:
        """Returns the moments of the visitor's run, else those of a recording, else the untrained model."""
        run = self.runs.get(recipe)
        if run is not None and (run.moments or not run.is_over):
            state, moments = run.state, list(run.moments)  # in this order: a run that is over gets no more moments
            return Shown(state, moments or [_untrained(recipe)], run.place, run.problem)
        problem = run.problem if run is not None else ""
        if stored := _recording(recipe):
            return Shown(RECORDED, stored, problem=problem)
        return replace(self.untrained(recipe), problem=problem)

    def untrained(self, recipe: Recipe) -> Shown:
        stored = _recording(recipe)
        return Shown(NEW, stored[:1] if stored else [_untrained(recipe)])

    def has_curve(self, recipe: Recipe) -> bool:
        """Returns True if the recipe was trained, at least for some steps, or is recorded."""
        run = self.runs.get(recipe)
        return bool(run and run.moments) or _recording(recipe) is not None

    def done(self, recipe: Recipe) -> Run | None:
        """Returns the visitor's run if it has a trained model, else None."""
        run = self.runs.get(recipe)
        return run if run is not None and run.state == DONE else None


def of_visit() -> Trainings:
    now = visit.current()
    if now.trainings is None:
        now.trainings = Trainings()
    return now.trainings


@functools.cache
def runner() -> Runner | None:
    """Returns the process's queue: a training per core, one less if hosted; None without a core left."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    at_once = cores - 1 if hub.access().hosted else cores
    return Runner(at_once) if at_once else None


@functools.lru_cache(64)
def _untrained(recipe: Recipe) -> bytes:
    """Returns the packed moment before the first step."""
    with serving.computing(), _one_at_a_time:
        return next(iter(Learning(recipe))).packed()
