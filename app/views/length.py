"""The Length page: the effect of a longer text on loss, accuracy, entropy and normaliser of the chosen models.

Curves were measured on held-out text (studies/corpus/lengths.py); rings are values of the input text.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from app import compute
from app.markdown import literal, plain
from app.panels.choice import companions
from app.panels.choice.labels import model_label
from app.panels.measured.lengths import ENTROPY, QUANTITIES, TRAINED, Curve, Quantity, curves_of
from app.panels.page import frame
from app.panels.page.text import Reading
from app.server import caches, serving
from app.state import visitor_models
from app.state.handlers import events
from app.state.lab_state import LabState
from app.texts import _
from components.dial import dial
from components.figure import Spec, figure, spec_of
from components.mounting import Part, mount
from figures.curves.lengths import length_curves
from figures.lines import Panel, Point, Series
from figures.squares import Field, head_squares
from models import Lab, catalogue
from models.errors import InputError
from models.storage.checkpoint import CheckpointError
from studies.corpus.lengths import CAPTURED, typed_limit
from studies.series import style

GROUP = "length"  # the slider and the chart show the same position



@dataclass(frozen=True)
class PageContent:
    """The content of the page.

    Attributes:
        found: model -> the measured curves of this model.
        damaged: messages about files that cannot be read.
        lengths: the measured lengths; empty if there are no curves.
        length: the chosen length.
        points: values of the input text, as `_points` returns them.
        unread: (model, maximum number of tokens) of the models that read only a part of the text.
    """

    found: dict[str, tuple[Curve, ...]]
    damaged: list[str]
    lengths: list[int]
    length: int
    points: list[dict[str, Any]]
    unread: list[tuple[str, int]]

    @property
    def curves(self) -> tuple[Curve, ...]:
        return sum(self.found.values(), ())


def page() -> None:
    frame.under_header(_draw, direct=DIRECT)


def _content(lab: Lab, reading: Reading, state: LabState) -> PageContent:
    curves_by_model, damaged = {}, []
    for name in state.models:
        try:
            curves_by_model[name] = _wanted(name, state)
        except CheckpointError as error:
            damaged.append(str(error))
    lengths = sorted({n for curves in curves_by_model.values() for curve in curves for n in curve.by_length})
    nearest = min(lengths, key=lambda n: abs(n - lab.trained_length), default=0)
    points, unread = _points(state, reading.shown) if lengths else ([], [])
    return PageContent(curves_by_model, damaged, lengths, state.length if state.length in lengths else nearest, points,
                       unread)


def _wanted(name: str, state: LabState) -> tuple[Curve, ...]:
    """Returns the curve of a model at the trained scale, and the curve at the scale that the visitor chose.

    A lesson shows the curves of all scales, because its text compares them.
    """
    shown = (TRAINED, state.for_model(name).plan.scale.policy)
    return tuple(curve for curve in curves_of(name) if state.lesson or curve.policy in shown)


def depends(lab: Lab, reading: Reading, state: LabState) -> Hashable:
    """Returns a key that changes with the arrangement of the page; see frame.Direct.depends."""
    content = _content(lab, reading, state)
    return state.models, tuple(content.damaged), content.curves


def later(lab: Lab, reading: Reading, state: LabState) -> Hashable:
    """Returns a key that changes with the sentences about texts that are not read whole; see frame.Direct.later."""
    return tuple(_content(lab, reading, state).unread)


def parts(lab: Lab, reading: Reading, state: LabState) -> list[Part]:
    """Returns the page's components; an empty list if there are no curves."""
    content = _content(lab, reading, state)
    curves, length, models = content.curves, content.length, list(content.found)
    if not curves:
        return []
    serving.give_way()
    trained = _trained(curves)
    charts = figure.part(
        key="length charts", spec=_with_rings(_spec(curves, trained), curves, content.points), at=length, group=GROUP,
        title=_("Effect of text length"), about=[_about(curves, trained)], models=models, what="length",
        alt="; ".join(_in_words(curves, quantity, length) for quantity in QUANTITIES), on_event=events.on_length)
    texts = [_("**Every head at {length} tokens**: how widely a row spreads its weight, as mean entropy in nats. Equal "
               "weight on all {length} tokens: {most:.2f}.", length=n, most=math.log(n)) for n in content.lengths]
    slider = dial.part(key="length", group=GROUP, positions=content.lengths, at=length, label=_("Length, tokens"),
                       term="token", texts=texts, on_event=events.on_length)
    heads = figure.part(key="length heads", spec=_heads_spec(curves, length), models=models,
                        what=f"heads-at-{length}", alt=_in_words(curves, ENTROPY, length),
                        title=_("Mean entropy of each head at {length} tokens", length=length))
    return [charts, slider, heads]


# the fields of a link to an example: beyond the trained length, relu²/n loses more accuracy than softmax
EXAMPLE = {"page": "length", "model": "masked-softmax", "with": "masked-gau-relu2", "n": "512"}
DIRECT = frame.Direct(depends, parts, lambda *_given: [], typed_limit, later)


def _draw(lab: Lab, reading: Reading, state: LabState) -> None:
    content = _content(lab, reading, state)
    about = [_("This page shows the effect of longer texts.")]
    if content.curves:
        about.append(_("Move the slider or click in a chart to choose a length."))
    with st.container(horizontal=True, vertical_alignment="center", key="lead"):
        st.caption(" ".join(about))
        if not state.lesson:
            st.button(_("Example: longer texts hurt one model more than the other"), key="example-length",
                      on_click=events.open_link, args=(EXAMPLE,))
    if lab.task.lengths:
        companions.choose(lab.name)
    for problem in content.damaged:
        st.error(plain(_(problem)))
    missing = [name for name, curves in content.found.items() if not curves]
    if not lab.task.lengths:  # the compared models belong to the same family, so no compared model was measured
        st.info(_("Choose another model. Curves over length exist for our models that write stories, predict hidden "
                  "words or follow variables. An encoder-decoder was not evaluated at other lengths, and an "
                  "imported model has no held-out texts here."))
    elif missing:
        st.info(_("Not measured yet: {names}.", names=literal(", ".join(map(model_label, missing)))))
    if not content.curves:
        return
    with st.container(key="lengths"):  # style.css puts the heads below the charts on a narrow screen
        left, right = st.columns([68, 32], gap="medium")
    charts, slider, heads = parts(lab, reading, state)
    with right:  # displayed first, because the browser has to load Vega for the charts
        mount(slider)
    with left:
        mount(charts)
        st.caption(plain(_about(content.curves, _trained(content.curves))))
        for name, limit in content.unread:
            st.caption(_("{model} reads at most {limit} tokens, fewer than the text in the box has.",
                         model=literal(model_label(name)), limit=limit))
    with right:
        mount(heads)


def _trained(curves: Sequence[Curve]) -> tuple[int, ...]:
    """Returns the text lengths with which the models were trained, in ascending order."""
    return tuple(sorted({catalogue.find(curve.model).trained_length for curve in curves}))


def _about(curves: Sequence[Curve], trained: Sequence[int]) -> str:
    return _("Lines: held-out text, {predictions} predictions at each length; entropy and normaliser over at most "
             "{captured:,} tokens. The models were trained at {trained} tokens. Bars: ± one standard error over "
             "texts, and the standard deviation over seeds where several were trained. Normaliser: softmax divides "
             "a row by a sum Z, so that its weights sum to 1; ln Z grows with the number of tokens in the row. Rings: "
             "the text in the box, with your changes; a value outside a chart has its ring at the edge, with the "
             "number and an arrow. Thin lines: a model with another "
             "scale than in training, if you chose one for all heads. Click a name in the legend to see its "
             "line alone; click in a chart to choose the length.",
             predictions=_predictions(curves), captured=CAPTURED,
             trained=", ".join(map(str, trained)))


def _predictions(curves: Sequence[Curve]) -> str:
    """Returns the number of predictions in the mean of a loss, for example `2,494 to 16,384`."""
    counts = [values["predictions"] for curve in curves for values in curve.by_length.values()]
    least, most = min(counts), max(counts)
    return f"{least:,}" if least == most else _("{least:,} to {most:,}", least=least, most=most)


@caches.remembered(worded=True)
def _spec(curves: tuple[Curve, ...], trained: tuple[int, ...]) -> Spec:
    """Returns the charts without the rings of the input text."""
    panels = []
    for quantity in QUANTITIES:
        lines = [Point(index, n, value, curve.spread.get((quantity.key, n))) for index, curve in enumerate(curves)
                 for n in sorted(curve.by_length) if (value := curve.value(n, quantity.key)) is not None]
        panels.append(Panel(_title(quantity), lines, percent=quantity.percent))
    return spec_of(length_curves.spec(_series(curves), panels, 0, trained))


def _title(quantity: Quantity) -> str:
    return _("{title}, {unit}", title=_(quantity.title), unit=_(quantity.unit))


def _series(curves: Sequence[Curve]) -> list[Series]:
    longest = max(n for curve in curves for n in curve.by_length)
    readings: dict[str, int] = {}
    series = []
    for curve in curves:
        reading = readings[curve.model] = readings.get(curve.model, -1) + 1
        last = max(curve.by_length)
        name = curve.label if last == longest else _("{name}, up to {n}", name=curve.label, n=last)
        # Another inference setting of the same model is drawn thin.
        series.append(Series.of_style(name, style(curve.model, reading), quiet=reading > 0))
    return series


def _with_rings(spec: Spec, curves: Sequence[Curve], points: Sequence[dict[str, Any]]) -> Spec:
    """Returns the charts with the values of the input text for each model under the plan."""
    indices = {(curve.model, curve.policy): index for index, curve in enumerate(curves)}
    series, known = _series(curves), [p for p in points if (p["model"], p["policy"]) in indices]
    note = _("the text in the box")
    datasets = dict(spec["datasets"])
    for number, quantity in enumerate(QUANTITIES):
        datasets[f"rows{number}"] = [*datasets[f"rows{number}"], *(
            {"series": series[indices[point["model"], point["policy"]]].name, "x": point["n"], "form": "ring",
             "y": point[quantity.key], "note": note, "panel": _title(quantity)}
            for point in known if point[quantity.key] is not None)]
    return spec | {"datasets": datasets}


@caches.remembered(worded=True)
def _heads_spec(curves: tuple[Curve, ...], length: int) -> Spec:
    fields = []
    for curve in curves:
        values = curve.by_length.get(length, {}).get("entropy")
        note = _("It reads at most {n} tokens, the size of its tables.", n=max(curve.by_length)) \
            if length > max(curve.by_length) else _("Not measured at this length.")
        fields.append(Field(curve.label, values or (), "" if values else note))
    title = _("Mean entropy of each head at {length} tokens", length=length)
    return spec_of(head_squares.spec(fields, _("nats"), title))


def _in_words(curves: Sequence[Curve], quantity: Quantity, length: int) -> str:
    """Returns the values of a chart at one length, as a sentence."""
    known = [(curve.label, curve.value(length, quantity.key)) for curve in curves]
    values = "; ".join(f"{label} {value:.3f}" for label, value in known if value is not None)
    return _("{title} at {length} tokens, {unit}: {values}", title=_(quantity.title), length=length,
             unit=_(quantity.unit), values=values)


def _points(state: LabState, text: str) -> tuple[list[dict[str, Any]], list[tuple[str, int]]]:
    """Returns two lists: the values of the input text for each model (n and every quantity), and `PageContent.unread`.

    The second list contains the models that read only a part of the text, with their limits in tokens. These models
    have no values in the first list.
    """
    points, unread = [], []
    for name in state.models:
        try:
            lab = visitor_models.opened(name, state.chat)
            plan = state.for_model(name).plan
            limit = typed_limit(lab, plan)
            prompt = compute.read(lab, text, limit)
        except (CheckpointError, InputError):
            continue
        if prompt.omitted and name != state.model:  # the page shows the tokens of the first model anyway
            unread.append((name, limit))
            continue
        points.append({"n": len(prompt.ids), "model": name, "policy": plan.scale.policy,
                       **compute.facts_of(lab, prompt, plan)})
    return points, unread
