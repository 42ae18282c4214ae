"""The payload of one statement: its row with the small plot, the open statement, its charts, its link into the Lab."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any
from urllib.parse import urlencode

from app import texts
from app.panels.lengths import QUANTITIES, TRAINED, Curve, curves_of
from app.state.lab_state import CLAIMS, LAB
from app.texts import N_, _, ngettext
from figures.curves import WAYS, dots, drop_curves, learning_curves, length_curves, seed_lines, task_curves
from figures.lines import Panel, Point, Series
from models import catalogue
from models.errors import CheckpointError
from studies import claims, series
from studies.claims import Chart, Claim, Statement, Verdict
from studies.papa import results
from studies.papa.results import Study, deviation

# verdict -> its mark in components/findings/plots.js, in the order of the page
MARKS = {claims.HOLDS: "disc", claims.ONCE: "ring", claims.FADES: "half", claims.SMALL: "equal",
         claims.FAILS: "cross", claims.BUILT: "square", claims.OPEN: "dash", claims.MISSING: "dotted"}
_TOGETHER = re.compile(r"\S+ ± \S+|\([^()]{1,16}\)")
_HYPHEN = re.compile(r"(?<![\w-])-(?=\d)")  # a hyphen before a number is a minus
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
Spec = dict[str, Any]  # a Vega-Lite specification


def row(statement: Statement) -> dict[str, Any]:
    """Returns the statement in the list: text, mark, a line about the contrast, and the data of the small plot."""
    verdict = statement.verdict
    return {"key": statement.key, "text": _(statement.text), "mark": MARKS[verdict.word], "word": _(verdict.word),
            "about": _about(statement), "plot": plot(verdict)}


def _about(statement: Statement) -> str:
    verdict = statement.verdict
    if verdict.bound is None:
        return _(statement.contrast)
    values = {"contrast": _(statement.contrast), "bound": _(verdict.bound_text)}
    return _("{contrast}; limit {bound}", **values) if verdict.is_limit else _("{contrast}; margin {bound}", **values)


def plot(verdict: Verdict) -> dict[str, Any] | None:
    """Returns value, interval and bounds of the primary contrast in its unit, and on which side of them it holds."""
    if verdict.value is None or verdict.low is None or verdict.high is None or verdict.bound is None:
        return None
    return {"value": verdict.value, "low": verdict.low, "high": verdict.high, "bounds": verdict.bounds,
            "holds_below": verdict.is_limit and not verdict.is_least, "unit": _(verdict.unit)}


def detail(claim: Claim, statement: Statement) -> dict[str, Any]:
    """Returns the opened statement without its charts; every text is data."""
    methods = [_(claim.setting)]
    if claim.waiting:
        methods.append(_("Not compared until trained again at a better learning rate; results over several seeds are "
                         "at that rate. {names}", names=", ".join(claim.waiting)))
    return row(statement) | {
        "word": _word(statement.verdict), "source": claim.source,
        "facts": _facts(statement),
        "table": _table(statement.table), "parts": _table(statement.parts), "command": statement.command,
        "lab": query(statement.key), "methods": methods, "trainings": _table(claim.trainings),
        "rates": _table(claim.rates)}


def place(key: str) -> list[str]:
    """Returns the model, the tool, and the models beside it of a statement; empty without a place in the Lab."""
    return (claims.entry(key).get("lab", "") if key in CLAIMS and "-" in key else "").split()


def query(key: str) -> str:
    """Returns the query of a statement's state in the Lab, in the visitor's language; empty without one."""
    if not place(key):
        return ""
    model, tool, *beside = place(key)
    language = "" if texts.language() == texts.ENGLISH else texts.language()
    fields = {"page": LAB, "model": model, "with": " ".join(beside), "lab": tool, "lang": language}
    return urlencode({name: value for name, value in fields.items() if value})


def _word(verdict: Verdict) -> str:
    """Returns the verdict; of a statement with a limit that holds, also the limit, because only a bound was shown."""
    if verdict.bound is None or not verdict.is_limit or verdict.word not in (claims.HOLDS, claims.ONCE):
        return _(verdict.word)
    return _("{verdict}: inside the limit of {bound}", verdict=_(verdict.word), bound=_(verdict.bound_text))


def _facts(statement: Statement) -> list[tuple[str, str]]:
    verdict = statement.verdict
    facts = [(_("Paper"), f"{_(statement.sourced)} ({_(statement.basis)})"), (_("Our result"), _(statement.ours))]
    if not statement.verified:
        facts.append(("†", _("not checked in the paper")))
    if verdict.seeds:
        basis = ngettext("{n} training", "{n} trainings with different seeds", verdict.seeds)
        facts.append((_("Basis"), _("{trainings}, {steps:,} steps", trainings=basis, steps=verdict.steps)
                      if verdict.steps else basis))
    facts.append((_("Test"), _("{contrast}: {interval}", contrast=_(statement.contrast), interval=_(verdict.interval))
                  if verdict.interval else _(statement.contrast)))
    meaning = _(claims.WORDS[claims.HOLDS if verdict.word == claims.ONCE else verdict.word])
    if verdict.word == claims.ONCE:
        meaning = _("{meaning}; of a single training", meaning=meaning)
    facts.append((_("Rule"), _("{verdict}: {meaning}", verdict=_(verdict.word), meaning=meaning)))
    if verdict.bound is not None:
        facts.append((_("Limit") if verdict.is_limit else _("Margin"),
                      _("the most that the statement allows") if verdict.is_limit else
                      _("half of the source's effect, or a small difference")))
    if verdict.why:
        facts.append((_("Note"), _(verdict.why)))
    if verdict.p is not None and verdict.q is not None:
        facts.append((_("Significance"), _("p = {p:.3g}; corrected q = {q:.3g} "
                                           "(significant up to 0.05)", p=verdict.p, q=verdict.q)))
    return [(name, unbroken(text)) for name, text in facts]


def unbroken(cell: str) -> str:
    """Returns the text with minus signs for hyphens before numbers, and no line breaks at ± or in brackets."""
    return _TOGETHER.sub(lambda match: match[0].replace(" ", "\u00a0"), _HYPHEN.sub("−", cell))


def _table(rows: Sequence[Mapping[str, str]]) -> dict[str, Any] | None:
    """Returns columns and rows; None for an empty table."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return {"columns": [_(name) for name in columns],
            "rows": [[unbroken(_(row.get(name, ""))) for name in columns] for row in rows]} if rows else None


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


def spec_of(spec: Spec) -> Spec:
    """Returns a chart of figures/ with texts in the visitor's language, for components/figure."""
    return texts.translated({key: value for key, value in spec.items() if key != "config"})


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
