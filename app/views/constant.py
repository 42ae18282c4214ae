"""The Constant page: how the score of a frozen encoder drops as more and more of its heads become constant.

The charts also show a random order, pruned heads, controls and two numbers of the paper. studies/papa measured
everything except the results for the input text, which are computed when the page is displayed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterable
from functools import partial
from statistics import fmean

import streamlit as st

from app.markdown import literal, plain
from app.panels.measured import constant_models, constant_text
from app.panels.page import frame
from app.panels.page.text import Reading
from app.server import caches, serving
from app.state import session, visitor_models
from app.state.handlers import head_events
from app.state.handlers.constant_events import on_constant, on_constant_place
from app.state.handlers.events import take_model
from app.state.lab_state import LabState
from app.state.pages.constant_view import ConstantView
from app.texts import N_, _, number, tip
from components.dial import dial
from components.figure import Spec, figure, spec_of
from components.mounting import OnEvent, Part, mount
from figures.curves.constants import WAYS, Curve, drop_curves, task_curves
from models import HeadPlan, Lab, catalogue
from models.labs.foreign import ForeignError
from models.storage.checkpoint import CheckpointError
from studies import store
from studies.papa import results
from studies.papa.probe_modes import LEARNED, RANDOM, REMOVED
from studies.papa.results import KIND, Study, Task, deviation

AVERAGE, MOST = 0.08, 0.2  # relative drops in the paper: mean and largest (Hassid et al. 2022, abstract and section 4)
METRICS = {"accuracy": N_("accuracy"), "f1": N_("F1 of spans"), "matthews": N_("Matthews correlation")}
ABOUT = N_("The encoder is frozen. Constant matrices are means over the training texts of each task. For each number "
           "of constant heads, new probes that read all layers are trained until their validation loss stops falling "
           "(PAPA, arXiv 2211.03495). Bars: ± one standard deviation over three probes, for the random order over "
           "three orders.")
RULE = N_("A task is counted in the mean if each of the three probes on the unmodified model scores above all three "
          "probes on the model with all heads pruned, and above a constant answer (the most frequent label). This "
          "rule replaces a limit of 0.1 on the score. Both were set after the first scores were known.")


def page() -> None:
    frame.under_header(_draw, direct=DIRECT)


def has_box(lab: Lab, state: LabState) -> bool:
    """Returns True for a model whose measured probes can label the input text."""
    return _reads(_whole(_studies()), lab, state.constant)


def depends(lab: Lab, reading: Reading, state: LabState) -> Hashable:
    """Returns a key that changes with the arrangement of the page; see frame.Direct.depends."""
    studies = _whole(_studies())
    if not studies:
        return None
    study, task, count = _setting(studies, lab, state.constant)
    reason = has_box(lab, state) and constant_text.problem(lab, study, reading.shown, task, count)
    return study.name, store.stamp(study.name, KIND), task, bool(reason)


def later(lab: Lab, reading: Reading, state: LabState) -> Hashable:
    """Returns a key that changes with the content of the button below the labels; see frame.Direct.later."""
    studies = _whole(_studies())
    return bool(studies) and _setting(studies, lab, state.constant)[-1] > 0


def parts(lab: Lab, reading: Reading, state: LabState) -> list[Part]:
    """Returns the page's components, except `late_parts`."""
    studies = _whole(_studies())
    if not studies:
        return []
    study, _task, count = _setting(studies, lab, state.constant)
    return [_table(study, count), _slider(study, count), *_curves(study, count)]


def late_parts(lab: Lab, reading: Reading, state: LabState) -> list[Callable[[], Part]]:
    """Returns functions that create the results of the input text."""
    if not has_box(lab, state):
        return []
    study, task, count = _setting(_whole(_studies()), lab, state.constant)
    return constant_text.late_parts(lab, study, reading.shown, task, count)


DIRECT = frame.Direct(depends, parts, late_parts, later=later, has_box=has_box)


def _draw(lab: Lab, reading: Reading, state: LabState) -> None:
    every = _studies(tells=True)
    studies = _whole(every)
    about = [_("This page makes attention heads constant: each keeps its mean pattern, whatever the text.")]
    if studies:
        about.append(_("Move the slider to see how much score a frozen encoder loses on each task."))
    st.caption(" ".join(about))
    if not studies:
        st.info(_("No model has been measured yet. Measure one with: {command}",
                  command=f"`python -m studies.papa {lab.name}`"))
        return
    components = {part.key: part for part in parts(lab, reading, state)}
    study, task, count = _setting(studies, lab, state.constant)
    reads = has_box(lab, state)
    _choose(studies, study, task, reads)
    with st.container(key="constant"):  # style.css stacks the parts on a narrow screen
        left, right = st.columns([54, 46], gap="medium")
    with right:  # the right part is displayed first, because a new text changes it
        mount(components["constant table"])
        for make in late_parts(lab, reading, state):
            mount(make())
        if reads and not constant_text.problem(lab, study, reading.shown, task, count):
            st.button(_("Make these heads constant on all pages"), key="constant plan", on_click=_set_constant,
                      disabled=not count or lab.constant is None,
                      help=_("On other pages the constant matrices are means over the model's own training texts, not "
                             "over the texts of this task."))
        st.caption(_("Measured in {minutes} minutes on one core. Repeat the measurement with: {command}",
                     minutes=round(study.cpu_seconds / 60), command=f"`{study.command}`"))
    with left:
        serving.give_way()
        mount(components["constant dial"])
        mount(components["constant drop"])
        st.caption(" ".join((_(ABOUT), _(RULE), _left_out(study))), help="\n\n".join(map(tip, ("probe", "score"))))
        mount(components["constant tasks"])
        constant_models.draw(list(every.values()))


def _setting(studies: dict[str, Study], lab: Lab, view: ConstantView) -> tuple[Study, str, int]:
    """Returns the study, the task and the number of constant heads on the page.

    Args:
        studies: the studies to choose from, by name; at least one.
        lab: the page's model.
        view: the state of the page.
    """
    study = _chosen(studies, lab, view)
    wanted = study.counts[view.step]
    # a link can name a number of heads that was not measured for this model
    count = min(study.measured_counts, key=lambda measured: abs(measured - wanted))
    return study, view.task if view.task in study.tasks else next(iter(study.tasks)), count


def _set_constant() -> None:
    """Makes the heads that are constant on the page constant on all pages.

    The number of heads is read here, because the events route changes it after the button was displayed.
    """
    state = session.history().present
    with contextlib.suppress(CheckpointError, ForeignError):  # the page then displays the error
        lab, studies = visitor_models.opened(state.model), _whole(_studies())
        if studies:
            study, task, count = _setting(studies, lab, state.constant)
            heads = constant_text.order_of(lab, study, task)[:count]
            head_events.set_plan(HeadPlan().with_heads(heads, constant=True))


def _studies(tells: bool = False) -> dict[str, Study]:
    """Returns all studies by name; with `tells`, displays a message for each damaged file."""
    studies = {}
    for name in results.names():
        try:
            study = constant_text.read_study(name, store.stamp(name, KIND))
        except (CheckpointError, KeyError, TypeError, ValueError, AttributeError) as error:
            if tells:
                st.error(plain(_(str(error))) if isinstance(error, CheckpointError) else
                         _("The measurement of {name} is damaged. Restore it with: git checkout -- "
                           "studies", name=literal(name)))
            continue
        if study is not None and study.tasks:
            studies[name] = study
    return studies


def _whole(every: dict[str, Study]) -> dict[str, Study]:
    """Returns the studies that the page can show alone.

    Training checkpoints that are measured only at the endpoints are only points in the chart of several models.
    """
    return {name: study for name, study in every.items()
            if study.measured_counts and (study.is_whole or not study.moment)}


def _reads(studies: dict[str, Study], lab: Lab, view: ConstantView) -> bool:
    """Returns True if the page's model is the measured model, whose probes can label the input text."""
    return bool(studies) and _chosen(studies, lab, view).weights == lab.fingerprint


def _readable_study(name: str, stamp: tuple[int, ...]) -> Study:
    """Returns a study whose file is known to be readable."""
    study = constant_text.read_study(name, stamp)
    assert study is not None
    return study


def _chosen(studies: dict[str, Study], lab: Lab, view: ConstantView) -> Study:
    """Returns the study in the link, else of the page's model, else of another installed model, else the first."""
    if view.study in studies:
        return studies[view.study]
    own = next((study for study in studies.values() if study.weights == lab.fingerprint), None)
    here = (study for name, study in studies.items() if name in catalogue.names())
    return own or next(here, next(iter(studies.values())))


def _choose(studies: dict[str, Study], study: Study, task: str, reads: bool) -> None:
    """Displays the choice of the measured model and of the task.

    Args:
        studies: all studies, by name.
        study: the chosen study.
        task: the task of the labels.
        reads: True if the page's model is the measured model, whose probes can label the input text.
    """
    st.session_state[session.STUDY], st.session_state[session.CONSTANT_TASK] = study.name, task
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(_("Measured model"), [*studies], key=session.STUDY, on_change=on_constant, width=220,
                     filter_mode=None, format_func=lambda name: constant_text.title_of(studies[name]))
        if reads:
            st.selectbox(_("Task for the text"), [*study.tasks], key=session.CONSTANT_TASK, on_change=on_constant,
                         filter_mode=None, format_func=lambda key: _(study.tasks[key].title), width=220)
        else:  # the model is named beside the choice, because the box above shows another model
            st.caption(constant_text.elsewhere(study))
            if study.name in catalogue.names():
                st.button(_("Label a text with {model}", model=literal(constant_text.title_of(study))), key="label",
                          type="primary", on_click=take_model, args=(study.name,))


# The browser stores the measurements for all numbers of heads, and switches between them without the server.

GROUP = "constant"


def _slider(study: Study, count: int) -> Part:
    return dial.part(key="constant dial", group=GROUP, positions=study.measured_counts, at=count, term="constant",
                     label=_("Constant heads, of {heads}", heads=study.heads),
                     texts=_verdicts(study.name, store.stamp(study.name, KIND)), on_event=_hear(study))


def _hear(study: Study) -> OnEvent:
    return partial(on_constant_place, counts=study.counts)


def _curves(study: Study, count: int) -> list[Part]:
    """Returns the chart of the relative drop, and the chart of the scores by task."""
    stamp = store.stamp(study.name, KIND)
    drop = figure.part(
        key="constant drop", spec=_drop_spec(study.name, stamp), group=GROUP, at=count,
        title=_("Relative drop with constant heads"), about=[_(ABOUT), _(RULE)], models=[study.name], what="constant",
        alt=_verdicts(study.name, stamp)[study.measured_counts.index(count)].replace("**", ""), on_event=_hear(study))
    tasks = figure.part(
        key="constant tasks", spec=_task_spec(study.name, stamp), group=GROUP, at=count, title=_("Scores by task"),
        about=[_(ABOUT), _(RULE)], models=[study.name], what="constant-tasks",
        alt="; ".join(f"{_(task.title)}: {_score(task.at(LEARNED, count, study.heads))}"
                      for task in study.tasks.values()), on_event=_hear(study))
    return [drop, tasks]


def _left_out(study: Study) -> str:
    """Returns the names of the tasks that are not counted in the mean."""
    titles = [_(study.tasks[key].title) for key in study.excluded]
    if not titles:
        return _("All tasks are counted in the mean.")
    return _("Tasks that are not counted in the mean: {tasks}.", tasks=", ".join(titles))


@caches.remembered(worded=True)
def _drop_spec(name: str, stamp: tuple[int, ...]) -> Spec:
    study = _readable_study(name, stamp)
    curves: dict[str, Curve] = {}
    for mode in WAYS:
        means = {count: study.mean_drop(mode, count) for count in study.counts}
        curves[mode] = [(count, mean, deviation(study.mean_drop_by_seed(mode, count))) for count, mean in means.items()
                        if mean is not None and study.has(mode)]
    return spec_of(drop_curves.spec(curves, _("Relative drop, mean of the tasks"), AVERAGE, MOST, 0))


@caches.remembered(worded=True)
def _task_spec(name: str, stamp: tuple[int, ...]) -> Spec:
    study = _readable_study(name, stamp)
    panels = []
    for task in study.tasks.values():
        curves = {mode: [(count, fmean(scores), deviation(scores)) for count in study.counts
                         if (scores := task.at(mode, count, study.heads)) and study.has(mode)] for mode in WAYS}
        title = _("{title}, {unit}", title=_(task.title), unit=_(METRICS[task.stored["metric"]]))
        panels.append((title, curves))
    return spec_of(task_curves.spec(panels, 0))


@caches.remembered(worded=True)
def _verdicts(name: str, stamp: tuple[int, ...]) -> tuple[str, ...]:
    study = _readable_study(name, stamp)
    return tuple(_verdict(study, count) for count in study.measured_counts)


def _verdict(study: Study, count: int) -> str:
    """Returns the headline. It rests on the tasks whose mean drop exceeds its standard deviation over the probes."""
    drops = study.drops(LEARNED, count)
    mean = study.mean_drop(LEARNED, count)
    if not study.drops(LEARNED, 0):
        return _("No task is counted for this model: its probes score as well with all heads pruned.")
    if mean is None or not drops:
        return _("Not all tasks have been measured for this number of heads.")
    clear = {key: drop for key, drop in drops.items() if _is_clear(study.tasks[key], drop, count, study.heads)}
    values = {"n": count, "heads": study.heads, "model": constant_text.title_of(study), "tasks": len(drops)}
    if not clear:
        return _("**{n} of {heads} heads constant** in {model}: in no task does the relative drop differ from 0 by "
                 "more than its standard deviation over the probes ({tasks} tasks). Paper, all heads constant: mean "
                 "drop 8%, at most 20%.", **values)
    key = max(clear, key=clear.__getitem__)
    return _("**{n} of {heads} heads constant** in {model}: the relative drop differs from 0 by more than its standard "
             "deviation over the probes in {clear} of {tasks} tasks; mean relative drop there {mean:.1%}, largest "
             "{most:.1%}, in “{task}”. Paper, all heads constant: mean 8%, at most 20%.",
             mean=fmean(clear.values()), most=clear[key], clear=len(clear),
             task=_(study.tasks[key].title), **values)


def _is_clear(task: Task, drop: float, count: int, heads: int) -> bool:
    """Returns True if a task's drop exceeds its standard deviation over the seeds of the probe."""
    seeds = task.drops(LEARNED, count, heads)
    return len(seeds) > 1 and abs(drop) > deviation(seeds)


def _score(scores: tuple[float, ...]) -> str:
    if not scores:
        return "–"
    return f"{_mean(scores)} ± {deviation(scores):.3f}" if len(scores) > 1 else _mean(scores)


def _mean(scores: tuple[float, ...]) -> str:
    """Returns the formatted mean. The standard deviation is only in the charts, because the column is narrow."""
    return number(fmean(scores), ".3f") if scores else "–"


def _table(study: Study, count: int) -> Part:
    columns, tables = _tables(study.name, store.stamp(study.name, KIND))
    return dial.part(key="constant table", group=GROUP, positions=study.measured_counts, at=count, columns=columns,
                     tables=tables)


@caches.remembered(worded=True)
def _tables(name: str, stamp: tuple[int, ...]) -> tuple[list[str], list[list[list[str]]]]:
    """Returns the names of the columns, and one table per number of constant heads."""
    study = _readable_study(name, stamp)
    others = {mode: title for mode, title in {RANDOM: _("random order"), REMOVED: _("pruned")}.items()
              if study.has(mode)}
    columns = [_("task"), _("unmodified"), _("constant"), _("drop"), *others.values(), _("all pruned"),
               _("constant answer")]
    return columns, [[_row(task, count, study.heads, others) for task in study.tasks.values()]
                     for count in study.measured_counts]


def _row(task: Task, count: int, heads: int, others: Iterable[str]) -> list[str]:
    drop = task.drop(LEARNED, count, heads)
    return [_(task.title), _mean(task.at(LEARNED, 0, heads)), _score(task.at(LEARNED, count, heads)),
            "–" if drop is None else number(drop, ".1%"),
            *(_mean(task.at(mode, count, heads)) for mode in others),
            _mean(task.pruned(heads)), number(task.constant_answer, ".3f")]
