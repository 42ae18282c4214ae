"""The Constant page: what a frozen model loses under fresh probes as more and more of its heads become constant, beside
a random order, beside heads that are removed, and beside the source's two numbers. All of it was measured before
(models/studies/papa); the typed text is read now."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from statistics import fmean

import streamlit as st

from app.markdown import literal, plain
from app.panels.measured import constant_models, constant_text
from app.panels.page import frame
from app.panels.page.text import Reading
from app.server import caches, serving
from app.state import session
from app.state.handlers.constant_events import on_constant, on_constant_place
from app.state.lab_state import LabState
from app.state.pages.constant_view import ConstantView
from app.texts import N_, _, number, tip
from components import chart, dial
from components.charts import Spec
from components.constant_charts import WAYS, Curve, drop_chart, task_chart
from components.mounting import OnEvent
from models import Lab
from models.storage.checkpoint import CheckpointError
from models.studies import store
from models.studies.papa import results
from models.studies.papa.probe_modes import LEARNED, RANDOM, REMOVED
from models.studies.papa.results import KIND, Study, Task, deviation

AVERAGE, MOST = 0.08, 0.2  # Hassid et al. 2022, abstract and section 4
METRICS = {"accuracy": N_("accuracy"), "f1": N_("F1 of spans"), "matthews": N_("Matthews correlation")}
ABOUT = N_("The model is frozen; constants are means over each task's training texts; for every number of heads a "
           "fresh probe, which sees all layers, is trained (PAPA, arXiv 2211.03495). Bars: ± one standard deviation "
           "over three seeds of the probe; of a random order, over three orders. Tasks that the model as trained "
           "scores below 0.1 in are left out of the mean.")


def page() -> None:
    frame.under_header(_draw)


def _draw(lab: Lab, reading: Reading, state: LabState) -> None:
    every = _studies()
    studies = {name: its for name, its in every.items() if its.is_whole or not its.moment}  # the others are points
    if not studies:
        st.info(_("No study is here yet. Make one: {command}", command=f"`python -m models.studies.papa {lab.name}`"))
        return
    shown = state.constant
    study = _chosen(studies, lab, shown)
    counts = study.counts
    count = counts[shown.step]
    reads = lab.fingerprint == study.weights
    _choose(studies, study, shown, reads)
    with st.container(key="constant"):  # style.css: below each other where there is no room
        left, right = st.columns([60, 40], gap="medium")
    # What a typed text changes comes first.
    with right:
        _table(study, count)
        task = shown.task if shown.task in study.tasks else next(iter(study.tasks))
        if reads:
            constant_text.draw(lab, study, reading.shown, task, count)
        st.caption(_("Measured in {minutes} minutes of one core. Measure it again: {command}",
                     minutes=round(study.cpu_seconds / 60), command=f"`{study.command}`"))
    with left:
        serving.give_way()
        _slider(study, count)
        _curves(study, count)
        constant_models.draw(list(every.values()))


def _studies() -> dict[str, Study]:
    """All that can be read, by name; what is damaged is told."""
    found = {}
    for name in results.names():
        try:
            study = _study(name, store.stamp(name, KIND))
        except (CheckpointError, KeyError, TypeError, ValueError, AttributeError) as error:
            st.error(plain(_(str(error))) if isinstance(error, CheckpointError) else
                     _("The study of {name} cannot be read. Restore it with: git checkout -- "
                       "models/studies", name=literal(name)))
            continue
        if study is not None and study.tasks:
            found[name] = study
    return found


@caches.remembered()
def _study(name: str, stamp: tuple[int, ...]) -> Study | None:
    return results.read(name)


def _there(name: str, stamp: tuple[int, ...]) -> Study:
    """A study that whoever asks has read already."""
    study = _study(name, stamp)
    assert study is not None
    return study


def _chosen(studies: dict[str, Study], lab: Lab, shown: ConstantView) -> Study:
    """The one of the link, that of the page's model, or the first."""
    if shown.study in studies:
        return studies[shown.study]
    its = next((study for study in studies.values() if study.weights == lab.fingerprint), None)
    return its or next(iter(studies.values()))


def _choose(studies: dict[str, Study], study: Study, shown: ConstantView, reads: bool) -> None:
    """`reads`: the page's model is the study's, so that what its probes say of the typed text depends on the task."""
    st.session_state[session.STUDY] = study.name
    st.session_state[session.CONSTANT_TASK] = shown.task if shown.task in study.tasks else next(iter(study.tasks))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(_("Study of"), [*studies], key=session.STUDY, on_change=on_constant, width=220,
                     format_func=lambda name: studies[name].title)
        if reads:
            st.selectbox(_("Task of the text"), [*study.tasks], key=session.CONSTANT_TASK, on_change=on_constant,
                         format_func=lambda key: _(study.tasks[key].title), width=220)
        else:  # beside the choice, since the box above it seems to say otherwise
            st.caption(constant_text.elsewhere(study))


# What was measured. All numbers of heads are in the browser already, which goes from one to another by itself.

GROUP = "constant"


def _slider(study: Study, count: int) -> None:
    dial(key="constant dial", group=GROUP, places=study.counts, at=count, term="constant",
         label=_("Heads changed, of {heads}", heads=study.heads),
         told=_verdicts(study.name, store.stamp(study.name, KIND)), on_event=_hear(study))


def _hear(study: Study) -> OnEvent:
    return partial(on_constant_place, counts=study.counts)


def _curves(study: Study, count: int) -> None:
    stamp = store.stamp(study.name, KIND)
    chart(key="constant drop", spec=_drop_spec(study.name, stamp), group=GROUP, at=count,
          title=_("What constant heads cost"), about=[_(ABOUT)], models=[study.name], what="constant",
          alt=_verdicts(study.name, stamp)[study.counts.index(count)].replace("**", ""), on_event=_hear(study))
    st.caption(_(ABOUT), help="\n\n".join(map(tip, ("probe", "score"))))
    chart(key="constant tasks", spec=_task_spec(study.name, stamp), group=GROUP, at=count,
          title=_("Scores by task"), about=[_(ABOUT)], models=[study.name], what="constant-tasks",
          alt="; ".join(f"{_(task.title)}: {_score(task.at(LEARNED, count, study.heads))}"
                        for task in study.tasks.values()), on_event=_hear(study))


@caches.remembered(worded=True)
def _drop_spec(name: str, stamp: tuple[int, ...]) -> Spec:
    study = _there(name, stamp)
    curves: dict[str, Curve] = {}
    for way in WAYS:
        means = {k: study.mean_drop(way, k) for k in study.counts}
        curves[way] = [(k, mean, deviation(study.mean_drop_by_seed(way, k))) for k, mean in means.items()
                       if mean is not None and study.has(way)]
    return drop_chart(curves, _("Relative drop, mean of the tasks"), AVERAGE, MOST)


@caches.remembered(worded=True)
def _task_spec(name: str, stamp: tuple[int, ...]) -> Spec:
    study = _there(name, stamp)
    panels = []
    for task in study.tasks.values():
        curves = {way: [(k, fmean(its), deviation(its)) for k in study.counts
                        if (its := task.at(way, k, study.heads)) and study.has(way)] for way in WAYS}
        panels.append((_(task.title), _(METRICS[task.found["metric"]]), curves))
    return task_chart(panels)


@caches.remembered(worded=True)
def _verdicts(name: str, stamp: tuple[int, ...]) -> tuple[str, ...]:
    study = _there(name, stamp)
    return tuple(_verdict(study, count) for count in study.counts)


def _verdict(study: Study, count: int) -> str:
    drops = study.drops(LEARNED, count)
    mean = study.mean_drop(LEARNED, count)
    if mean is None or not drops:
        return _("This number of heads is not measured yet.")
    key = max(drops, key=drops.__getitem__)
    return _("**{n} of {heads} heads constant**: {mean:.1%} lost on average (the paper, with all constant: 8%), at "
             "most {most:.1%}, on “{task}” (the paper: never more than 20%).", n=count, heads=study.heads, mean=mean,
             most=drops[key], task=_(study.tasks[key].title))


def _score(scores: tuple[float, ...]) -> str:
    if not scores:
        return "–"
    return f"{_mean(scores)} ± {deviation(scores):.3f}" if len(scores) > 1 else _mean(scores)


def _mean(scores: tuple[float, ...]) -> str:
    """Without the deviation, which the charts show: there is no room beside it."""
    return number(fmean(scores), ".3f") if scores else "–"


def _table(study: Study, count: int) -> None:
    columns, tables = _tables(study.name, store.stamp(study.name, KIND))
    dial(key="constant table", group=GROUP, places=study.counts, at=count, columns=columns, tables=tables)


@caches.remembered(worded=True)
def _tables(name: str, stamp: tuple[int, ...]) -> tuple[list[str], list[list[list[str]]]]:
    """Columns, and a table for each number of heads."""
    study = _there(name, stamp)
    others = {way: title for way, title in {RANDOM: _("random order"), REMOVED: _("pruned")}.items()
              if any(task.at(way, count, study.heads) for task in study.tasks.values() for count in study.counts)}
    columns = [_("task"), _("as trained"), _("constant"), _("drop"), *others.values()]
    return columns, [[_row(task, count, study.heads, others) for task in study.tasks.values()]
                     for count in study.counts]


def _row(task: Task, count: int, heads: int, others: Iterable[str]) -> list[str]:
    drop = task.drop(LEARNED, count, heads)
    return [_(task.title), _mean(task.at(LEARNED, 0, heads)), _score(task.at(LEARNED, count, heads)),
            "–" if drop is None else number(drop, ".1%"),
            *(_mean(task.at(way, count, heads)) for way in others)]
