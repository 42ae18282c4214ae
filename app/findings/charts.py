"""The charts of a statement: its own, curves that studies measured, and the learning curves of its models."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from app.findings.statement import place
from app.panels.measured.lengths import QUANTITIES, TRAINED, Curve, curves_of
from app.texts import N_, _
from components.figure import Spec, spec_of
from figures.curves import WAYS, dots, drop_curves, learning_curves, length_curves, seed_lines, task_curves
from figures.lines import Panel, Point, Series
from models import catalogue
from models.errors import CheckpointError
from studies import series
from studies.claims import Chart, Claim, Statement
from studies.papa import results
from studies.papa.results import Study, deviation

AVERAGE, MOST = 0.08, 0.2  # relative drops in the paper: mean and largest (Hassid et al. 2022, abstract and section 4)
METRICS = {"accuracy": N_("accuracy"), "f1": N_("F1 of spans"), "matthews": N_("Matthews correlation")}
DROPS, TASKS = ("papa-average", "papa-half", "papa-order"), ("papa-average", "papa-most")
# statement -> models whose curves over the text length are shown; of a single model, those of every inference setting
LENGTHS = {"normalisation-reading": ("masked-gau-relu2",),
           "normalisation-cure": ("masked-gau-relu2", "masked-gau-relu2-mixed"),
           "normalisation-softmax": ("masked-gau-relu2", "masked-gau-softmax"),
           "normalisation-log-n": ("masked-log-n", "masked-temperature", "masked-softmax"),
           "normalisation-entropy": ("masked-log-n", "masked-softmax"),
           "normalisation-relu2": ("masked-gau-relu2",),
           "selective-longer": ("assignment-selective", "assignment-softmax", "assignment-log-n", "assignment-random"),
           "gated-longer": ("stories-softmax", "stories-gated")}
LENGTH_NOTE = N_("Held-out texts. Bars: ± one standard error over texts; with several seeds, also their standard "
                 "deviation. Softmax divides a row by its normaliser Z.")
PAPA_NOTE = N_("Bars: ± one standard deviation over three probes or random orders.")


def charts(claim: Claim, statement: Statement) -> list[dict[str, Any]]:
    """Returns the data of components/figure for each chart, with a short name for the choice between them."""
    shown = []
    if statement.chart is not None:
        shown.append(_figure(_("Result"), chart_spec(statement.chart), _(statement.text), statement.key, "results",
                             _(statement.chart.title), _(statement.chart.alt)))
    shown += _constant(statement.key)
    if statement.key in LENGTHS:
        shown += _lengths(LENGTHS[statement.key])
    if claim.curves is not None:
        shown.append(_figure(_("Learning curves"), chart_spec(_compared(claim.curves, statement.key), learning=True),
                             _("Learning curves"), statement.key, "curves", _("Loss on validation texts.")))
    return shown


def _compared(curves: Chart, key: str) -> Chart:
    """Returns the curves of the models that the Lab compares for a statement; all of them for fewer than two."""
    points = [point for point in curves.points if point["name"] in place(key)]
    return replace(curves, points=points) if len({point["name"] for point in points}) > 1 else curves


def _figure(name: str, spec: Spec, title: str, model: str, what: str, about: str, alt: str = "") -> dict[str, Any]:
    return {"name": name, "spec": spec, "title": title, "alt": alt or spec.get("description", ""), "models": [model],
            "what": what, "about": [about], "at": None}


def chart_spec(chart: Chart, learning: bool = False) -> Spec:
    """Returns the Vega-Lite specification of a chart; `learning` is True for learning curves."""
    words = {name: _(name) for point in chart.points for name in (point["name"], point.get("which")) if name}
    rule = None if chart.rule is None else (chart.rule[0], _(chart.rule[1]))
    percent, title = chart.form.endswith("%"), _(chart.title)
    if chart.kind == "dots":
        return spec_of(dots.spec(chart.points, title, rule, percent, words))
    styles = {name: series.style(name) for name in {point["name"] for point in chart.points}}
    if learning:
        return spec_of(learning_curves.spec(chart.points, title, _(chart.across), styles, words))
    return spec_of(seed_lines.spec(chart.points, title, _(chart.across), styles, rule, percent,
                                                chart.kind == "scatter", words))


def studies_of_papa() -> Iterator[Study]:
    """Yields the studies that measured several numbers of constant heads; a damaged file is left out."""
    for name in results.names():
        try:
            study = results.read(name)
        except (CheckpointError, KeyError, TypeError, ValueError, AttributeError):
            continue
        if study is not None and study.measured_counts and (study.is_whole or not study.moment):
            yield study


def _constant(key: str) -> Iterator[dict[str, Any]]:
    """Yields the score of each frozen encoder against the number of its constant heads."""
    for study in studies_of_papa() if key in DROPS or key in TASKS else ():
        if key in DROPS:
            own = study.of_tasks()
            drops = {mode: [(count, mean, deviation(own.mean_drop_by_seed(mode, count))) for count in study.counts
                            if (mean := own.mean_drop(mode, count)) is not None and study.has(mode)] for mode in WAYS}
            spec = drop_curves.spec(drops, _("Relative drop, mean of the tasks"), AVERAGE, MOST, 0)
            yield _figure(study.title, spec_of(spec), _("Relative drop with constant heads"), study.name, "constant",
                          _(PAPA_NOTE))
        if key in TASKS:
            panels = []
            for task in study.tasks.values():
                scores = {mode: [(count, fmean(values), deviation(values)) for count in study.counts
                                 if (values := task.at(mode, count, study.heads)) and study.has(mode)] for mode in WAYS}
                panels.append((_("{title}, {unit}", title=_(task.title), unit=_(METRICS[task.stored["metric"]])),
                               scores))
            yield _figure(_("{model}, by task", model=study.title), spec_of(task_curves.spec(panels, 0)),
                          _("Scores by task"), study.name, "constant-tasks", _(PAPA_NOTE))


def _lengths(models: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yields the chart of loss, accuracy, entropy and normaliser against the length of the text."""
    try:
        curves = [curve for name in models for curve in curves_of(name)
                  if curve.policy == TRAINED or len(models) == 1]
    except CheckpointError:
        return
    if not curves:
        return
    panels = []
    for quantity in QUANTITIES:
        points = [Point(index, n, value, curve.spread.get((quantity.key, n))) for index, curve in enumerate(curves)
                  for n in sorted(curve.by_length) if (value := curve.value(n, quantity.key)) is not None]
        if points:
            panels.append(Panel(_("{title}, {unit}", title=_(quantity.title), unit=_(quantity.unit)), points,
                                percent=quantity.percent))
    trained = sorted({catalogue.find(curve.model).trained_length for curve in curves})
    spec = length_curves.spec([_series(curve, curves) for curve in curves], panels, trained[0], trained)
    yield _figure(_("By text length"), spec_of(spec), _("Effect of text length"), models[0], "length", _(LENGTH_NOTE)) \
        | {"at": trained[0]}


def _series(curve: Curve, curves: Sequence[Curve]) -> Series:
    setting = [other for other in curves if other.model == curve.model].index(curve)
    return Series.of_style(curve.label, series.style(curve.model, setting), quiet=setting > 0)
