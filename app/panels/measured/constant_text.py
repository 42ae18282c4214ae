"""The input text on the Constant page: its labels, and the distance of each head from its constant matrix."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from torch import Tensor

from app.markdown import literal
from app.panels.choice.labels import full_label, model_label
from app.server import caches, limits, serving
from app.texts import _, ngettext
from components.dial import paragraph, table
from components.figure import figure, spec_of
from components.mounting import Part
from figures.squares import Field, head_squares
from models import Lab, catalogue
from models.plan import Address
from models.storage.checkpoint import CheckpointError
from studies import store
from studies.papa import prompt_study, results, shipped
from studies.papa.probes import Probe
from studies.papa.prompt_study import LabelChange, PromptResult
from studies.papa.results import Study

FARTHEST = 5  # number of heads that are listed as nearest to their constant, and as farthest


@caches.remembered()
def read_study(name: str, stamp: tuple[int, ...]) -> Study | None:
    """Returns a study, cached until its file changes, of which `stamp` is a key."""
    return results.read(name)


def study_of(lab: Lab) -> Study | None:
    """Returns the complete study of a model's present weights; None without one."""
    for name in results.names():
        with contextlib.suppress(CheckpointError, KeyError, TypeError, ValueError, AttributeError):
            study = read_study(name, store.stamp(name, results.KIND))
            if study is not None and study.measured_counts and study.weights == lab.fingerprint and not study.moment:
                return study
    return None


def elsewhere(study: Study) -> str:
    """Returns the reason why the probes of a study cannot label the input text on this page."""
    if study.moment:
        return _("The weights of {study} are not released, so your text cannot be run through it.",
                 study=literal(title_of(study)))
    if study.name in catalogue.names():
        return _("These numbers are of {study}, not of the model of the other pages.", study=literal(title_of(study)))
    return _("These numbers are of {study}. Open that model on the page *Your model* to see its labels for your text.",
             study=literal(title_of(study)))


def title_of(study: Study) -> str:
    """Returns the measured model in the visitor's language; the study's own title for a model that is not released."""
    return full_label(study.name) if study.name in catalogue.names() else study.title


def problem(lab: Lab, study: Study, text: str, task: str, count: int) -> str:
    """Returns the reason why there are no labels; empty if there are labels."""
    loaded = _shipped(study.name, task, _stamp(study.name, task))
    if loaded is None or not {0, count} <= set(loaded[1]):
        return _("The probes for this number of heads are not released.")
    if not prompt_study.is_readable(lab, text):
        return _("Shorten or rewrite the text: it is too long, or its words do not match the model's tokens.")
    return ""


def late_parts(lab: Lab, study: Study, text: str, task: str, count: int) -> list[Callable[[], Part]]:
    """Returns functions that create the labels of the input text without and with constant heads, and the distances."""
    heading = _("**Labels of your text** by {model}: unmodified, and with {n} constant heads.",
                model=model_label(lab.name), n=count)
    if reason := problem(lab, study, text, task, count):
        return [lambda: paragraph.part(key="constant text", text=f"{heading}\n{reason}")]

    def result() -> PromptResult:
        return result_of(lab, study, text, task, count)
    return [lambda: paragraph.part(key="constant text", text=f"{heading}\n{_changed(result().changes)}"),
            lambda: _labels(result().changes), lambda: _distances(study, result()), lambda: _ends(result())]


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


def _changed(changes: tuple[LabelChange, ...]) -> str:
    changed = sum(change.is_changed for change in changes)
    return ngettext("{n} label has changed.", "{n} labels have changed.", changed) if changed \
        else _("No label has changed.")


def _labels(changes: tuple[LabelChange, ...]) -> Part:
    """Returns a table of each word with its labels without and with constant heads; changed labels are bold."""
    return table.part(key="constant said", columns=[_("word"), _("before"), _("after")],
                      rows=[[change.word[:60], _label(*change.before), _label(*change.after)] for change in changes],
                      strong=[(row, 2) for row, change in enumerate(changes) if change.is_changed])


def _label(label: str, probability: float) -> str:
    return f"{label} {probability:.0%}"


def _distances(study: Study, result: PromptResult) -> Part:
    values = result.distances
    title = _("Distance of each head from its constant")
    spec = head_squares.spec([Field(title, values.round(4).tolist())], _("total variation"), title, 1.0)
    return figure.part(
        key="constant distances", spec=spec_of(spec), models=[study.name], what="distance",
        title=_("Distance of each head from its constant, on your text"),
        about=[_("Total variation between the attention pattern and the constant matrix, mean over queries: 0 if "
                 "they are equal, at most 1.")],
        alt=_("Total variation of each head: {least:.2f} to {most:.2f}", least=float(values.min()),
              most=float(values.max())))


def _ends(result: PromptResult) -> Part:
    """Returns the heads that are nearest to their constant matrix, and those that are farthest."""
    values = result.distances
    order = sorted((float(values[layer, head]), layer, head) for layer in range(len(values))
                   for head in range(values.shape[1]))
    ends = ((_("nearest"), order[:FARTHEST]), (_("farthest"), order[:-FARTHEST - 1:-1]))
    return paragraph.part(key="constant ends", is_small=True, text="\n".join(
        f"{name}: " + ", ".join(f"{layer + 1}.{head + 1} ({value:.2f})" for value, layer, head in heads)
        for name, heads in ends))
