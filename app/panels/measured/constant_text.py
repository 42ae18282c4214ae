"""The labels of the input text by a frozen encoder without and with constant heads (PAPA)."""

import contextlib

from torch import Tensor

from app.server import caches, limits, serving
from app.texts import _
from models import Lab, catalogue
from models.plan import Address
from models.storage.checkpoint import CheckpointError
from studies import store
from studies.papa import prompt_study, results, shipped
from studies.papa.probes import Probe
from studies.papa.prompt_study import PromptResult
from studies.papa.results import Study


@caches.remembered()
def read_study(name: str, stamp: tuple[int, ...]) -> Study | None:
    """Returns a study of the judged tasks, cached until its file changes, of which `stamp` is a key."""
    study = results.read(name)
    return study and study.of_tasks()


def study_of(lab: Lab) -> Study | None:
    """Returns the complete study of a model's present weights; None without one."""
    return _study_of(lab.fingerprint, catalogue.moment())


@caches.remembered()
def _study_of(weights: str, moment: int) -> Study | None:
    for name in results.names():
        with contextlib.suppress(CheckpointError, KeyError, TypeError, ValueError, AttributeError):
            study = read_study(name, store.stamp(name, results.KIND))
            if study is not None and study.measured_counts and study.weights == weights and not study.moment:
                return study
    return None


def problem(lab: Lab, study: Study, text: str, task: str, count: int) -> str:
    """Returns the reason why there are no labels; empty if there are labels."""
    loaded = _shipped(study.name, task, _stamp(study.name, task))
    if loaded is None or not {0, count} <= set(loaded[1]):
        return _("No probes for this number of heads.")
    if not prompt_study.is_readable(lab, text):
        return _("This text is too long, or has no tokens.")
    return ""


def order_of(lab: Lab, study: Study, task: str) -> list[Address]:
    """Returns all heads in the order in which they become constant; a study of only the endpoints has no order."""
    order = study.tasks[task].stored.get("order", lab.kinds[0].addresses)
    return [(str(kind), int(layer), int(head)) for kind, layer, head in order]


def result_of(lab: Lab, study: Study, text: str, task: str, count: int) -> PromptResult:
    """Returns the results for a text that `problem` accepts, cached."""
    stamp = _stamp(study.name, task)
    key = ("papa", lab.identity, text, task, count, stamp)
    result = caches.measured.find(key)
    if result is None:
        limits.spend(limits.PASSES)
        labels, loaded = tuple(study.tasks[task].stored["labels"]), _shipped(study.name, task, stamp)
        assert loaded is not None
        with serving.computing():
            result = prompt_study.compare(lab, text, task, labels, *loaded, order_of(lab, study, task), count)
        assert result is not None
        caches.measured.keep(key, result)
    return result


@caches.remembered(8)
def _shipped(name: str, task: str, stamp: int) -> tuple[Tensor, dict[int, Probe]] | None:
    return shipped.read(name, task)


def _stamp(name: str, task: str) -> int:
    """Returns a number that changes with the file of the probes; 0 if there is no file."""
    path = shipped.path_of(name, task)
    return path.stat().st_mtime_ns if path.exists() else 0
