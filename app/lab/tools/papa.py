"""How many can be constant? The score of a frozen encoder by its constant heads (PAPA), and a text's labels."""

import contextlib
from typing import Any

from torch import Tensor

from app.content import parts
from app.content.tool import Tool
from app.lab.view import ERRORS, View, present_view
from app.server import caches, limits, serving
from app.state import events
from app.state.session import is_index
from app.texts import N_, _
from components.mounting import Content
from figures.curves import WAYS
from models import HeadPlan, Lab, catalogue
from models.plan import Address
from models.storage.checkpoint import CheckpointError
from studies import store
from studies.papa import results, shipped
from studies.papa.corpora import CORPORA
from studies.papa.probes import Probe
from studies.papa.results import Study
from studies.papa.shipped import PromptResult

KEY = "all.papa"


def content(view: View, tool: Tool) -> Content:
    """Returns the mean drop by the number of constant heads; the cursor makes heads constant in the learned order."""
    study = study_of(view.lab)
    assert study is not None
    task = _task(study, tool.setting(view, "task"))
    order = order_of(view.lab, study, task)
    count = sum(view.state.plan.state(*address).constant for address in order)
    curves = []
    for mode, (title, *_style) in WAYS.items():
        points = [[n, 100 * mean] for n in study.counts if (mean := study.mean_drop(mode, n)) is not None]
        if points and study.has(mode):
            curves.append((mode, _(title), points))
    titles = {key: _(each.title) for key, each in study.tasks.items()}
    shown: list[parts.Part] = [
        parts.title(_("How many can be constant?"), _("relative drop of a frozen encoder's score, %"), parts.choice(
            _("Task for the text"), titles, task, name="task", many=True)),
        *parts.lines(_("Relative drop with constant heads"), curves, _("constant heads"), at=count,
                     act={"type": "act", "tool": KEY, "count": 0}, field="count"),
        parts.note(_("Press the curve: that many heads become constant, now {n} of {count}.", n=count,
                     count=len(order)))]
    measured = min(study.measured_counts, key=lambda each: abs(each - count))
    if reason := problem(view.lab, study, view.reading.shown, task, measured):
        return parts.composed(shown, parts.note(reason))
    result = result_of(view.lab, study, view.reading.shown, task, measured)
    rows = [[parts.word(change.word), _labelled(*change.before), parts.strong(_labelled(*change.after))
             if change.is_changed else _labelled(*change.after)] for change in result.changes]
    return parts.composed(shown, parts.table([_("word"), _("before"), _("with {n} constant", n=measured)], rows))


def _labelled(label: str, probability: float) -> str:
    return f"{label} {probability:.0%}"


def _task(study: Study, name: str) -> str:
    return name if name in study.tasks else next(iter(study.tasks))


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
    if not shipped.is_readable(lab, text):
        return _("This text is too long, or has no tokens.")
    return ""


def order_of(lab: Lab, study: Study, task: str) -> list[Address]:
    """Returns all heads in the order in which they become constant; a study of only the endpoints has no order."""
    order = study.tasks[task].stored.get("order", lab.kinds[0].addresses)
    return [(str(kind), int(layer), int(head)) for kind, layer, head in order]


def result_of(lab: Lab, study: Study, text: str, task: str, count: int) -> PromptResult:
    """Returns the results for a text that `problem` accepts, cached."""
    stamp = _stamp(study.name, task)
    loaded = _shipped(study.name, task, stamp)
    assert loaded is not None

    def compare() -> PromptResult | None:
        limits.spend(limits.PASSES)
        with serving.computing():
            return shipped.compare(lab, text, task, tuple(study.tasks[task].stored["labels"]), *loaded,
                                        order_of(lab, study, task), count)

    return caches.measured.get(("papa", lab.identity, text, task, count, stamp), compare)


@caches.remembered(8)
def _shipped(name: str, task: str, stamp: int) -> tuple[Tensor, dict[int, Probe]] | None:
    return shipped.read(name, task)


def _stamp(name: str, task: str) -> int:
    """Returns a number that changes with the file of the probes; 0 if there is no file."""
    path = shipped.path_of(name, task)
    return path.stat().st_mtime_ns if path.exists() else 0


def act(event: dict[str, Any]) -> None:
    """Makes the first heads of the learned order constant, and all others live."""
    with contextlib.suppress(*ERRORS):
        view = present_view()
        study = study_of(view.lab)
        if study is None or view.lab.constant is None:
            return
        task = _task(study, view.state.lab.setting("papa.task"))
        order: list[Address] = order_of(view.lab, study, task)
        if is_index(event.get("count"), len(order) + 1):
            events.set_plan(HeadPlan().with_heads(order[:event["count"]], constant=True))


TOOLS = [Tool(KEY, N_("How many can be constant?"), N_("constant attention"), content, tip="constant", act=act,
              fits=lambda view: study_of(view.lab) is not None, settings={"task": tuple(CORPORA)})]
