"""The Length page: what a longer text does to loss, accuracy, entropy and normaliser of the chosen models.

Curves were measured on held-out text (models/studies/lengths.py); the points are the text in the box, read now.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

import pandas
import streamlit as st

from app import caches, compute, serving
from app.markdown import literal, plain
from app.panels import companions, frame
from app.panels.text import Reading
from app.state import events, session
from app.state.lab_state import LabState
from app.texts import N_, _, tip
from components.charts import head_chart, length_chart, to_spec
from models import Lab
from models.checkpoint import CheckpointError
from models.studies import seeds, store
from models.studies.lengths import CAPTURED, typed_limit
from models.tasks.base import InputError

QUANTITIES = {N_("Loss"): ("loss", N_("nats")), N_("Accuracy"): ("accuracy", N_("share right")),
              N_("Entropy of a row, mean of all heads"): ("entropy", N_("nats")),
              N_("Normaliser of a row, mean of all heads"): ("log_normaliser", "ln Z")}
TERMS = dict(zip(QUANTITIES, ("loss", "held out", "entropy", "normaliser"), strict=True))  # of the glossary
TRAINED = N_("as trained")
READINGS = {"trained": TRAINED, "sqrt": "1/√d", "logn": "log n", "fixed": N_("n as trained"),
            "length": N_("n = length")}


@dataclass(frozen=True, eq=False)
class Curve:
    """One model in one reading.

    Attributes:
        model: its name.
        reading: one of READINGS' values.
        by_length: tokens -> what models.studies.lengths.measure returned.
        spread: (quantity, tokens) -> standard error by the choice of texts, and where there are several seeds, their
            standard deviation with it.
    """

    model: str
    reading: str
    by_length: dict[int, dict[str, Any]]
    spread: dict[tuple[str, int], float]

    @property
    def label(self) -> str:
        return self.model if self.reading == TRAINED else _("{model}, read with {reading}", model=self.model,
                                                            reading=_(self.reading))

    def value(self, length: int, quantity: str) -> float | None:
        """A number at a length; of what is there by layer and head, the mean; None where nothing was measured."""
        found = self.by_length.get(length, {}).get(quantity)
        if isinstance(found, list):
            return fmean(value for layer in found for value in layer)
        return found


def page() -> None:
    frame.under_header(_draw, limit=typed_limit)


def _draw(lab: Lab, reading: Reading, state: LabState) -> None:
    companions.choose(lab.name)
    found, damaged = {}, []
    for name in state.models:
        try:
            found[name] = curves_of(name)
        except CheckpointError as error:
            damaged.append(str(error))
    for problem in damaged:
        st.error(plain(_(problem)))
    missing = [name for name, curves in found.items() if not curves]
    if missing:
        st.info(_("Not measured yet: {names}.", names=literal(", ".join(missing))))
    curves = sum(found.values(), ())
    if not curves:
        return
    lengths = sorted({n for curve in curves for n in curve.by_length})
    length = state.length if state.length in lengths else min(lengths, key=lambda n: abs(n - lab.trained_length))
    st.session_state[session.LENGTH] = length
    st.select_slider(_("Length, tokens"), lengths, key=session.LENGTH, on_change=events.on_length,
                     help=tip("token"))
    points, unread = _points(state, reading.shown)
    titles = list(QUANTITIES)
    for row in (titles[:2], titles[2:]):
        for column, title in zip(st.columns(2, gap="medium"), row, strict=True):
            serving.give_way()
            with column:
                st.markdown(f"**{_(title)}**", help=tip(TERMS[title]))
                st.vega_lite_chart(_with_points(_spec(curves, title, length, lab.trained_length), points, title),
                                   width="stretch", alt=_told(curves, title, length))
    shorter = "".join(_("; {name} reads {limit} tokens at most", name=literal(name), limit=limit)
                      for name, limit in unread)
    st.caption(_("Lines: held-out text, {predictions} predictions at each length; entropy and normaliser over "
                 "{captured:,} tokens at most. Grey rule: the trained length, {trained_length}. Bars: ± one "
                 "standard error by the choice of texts, and with it the standard deviation over seeds, where they "
                 "were measured. Rings: the text in the box, under your plan{shorter}.",
                 predictions=_predictions(curves), captured=CAPTURED,
                 trained_length=lab.trained_length, shorter=shorter))
    st.markdown(_("**Every head at {length} tokens**: mean entropy of a row in nats, of at most {most:.2f} for "
                  "the last query.", length=length, most=math.log(length)))
    serving.give_way()
    st.vega_lite_chart(copy.deepcopy(_heads_spec(curves, length)), alt=_told(curves, titles[2], length))
    st.download_button(_("Download as CSV"), _csv(curves), "length.csv", "text/csv", on_click="ignore")


def curves_of(name: str) -> tuple[Curve, ...]:
    """The measured curves of a model, as it was trained first; none if it was not measured. Raises CheckpointError."""
    return _curves(name, store.stamp(name, "length", seeds.SEEDS / f"{name}.json"))


@caches.remembered()
def _curves(name: str, stamp: tuple[int, ...]) -> tuple[Curve, ...]:
    found = store.read(name, "length")
    if found is None:
        return ()
    return tuple(Curve(name, READINGS[policy], {int(n): values for n, values in by_length.items()},
                       _spreads(name, policy, by_length))
                 for policy, by_length in found["readings"].items())


def _spreads(name: str, policy: str, by_length: dict[str, dict[str, Any]]) -> dict[tuple[str, int], float]:
    """(quantity, tokens) -> what texts and, of a model as it was trained, seeds change; where either is known."""
    metrics = list(seeds.read_seeds(name).values()) if policy == "trained" else []
    result = {}
    for quantity in ("loss", "accuracy"):
        for n, values in by_length.items():
            of_seeds = [value for metric in metrics for key in (f"{quantity}_by_length", f"{quantity}_by_events")
                        if (value := metric.get(key, {}).get(_key(key, n))) is not None]
            chance = math.hypot(stdev(of_seeds) if len(of_seeds) > 1 else 0.0, values.get(f"{quantity}_error", 0.0))
            if chance:
                result[quantity, int(n)] = chance
    return result


def _key(metric: str, tokens: str) -> str:
    """Tokens as a metric counts them: an event of an assignment is two, and BOS stands before the first."""
    return str((int(tokens) - 1) // 2) if metric.endswith("events") else tokens


def _predictions(curves: Sequence[Curve]) -> str:
    """How many predictions a loss is the mean over: `2,494 to 16,384`."""
    counts = [values["predictions"] for curve in curves for values in curve.by_length.values()]
    if min(counts) == max(counts):
        return f"{counts[0]:,}"
    return _("{least:,} to {most:,}", least=min(counts), most=max(counts))


@caches.remembered(worded=True)
def _spec(curves: tuple[Curve, ...], title: str, length: int, trained: int) -> dict[str, Any]:
    """A chart as Vega-Lite, without the typed text's points. Altair takes 50 ms for it, at every letter typed."""
    quantity, unit = QUANTITIES[title]
    values = [{"n": n, "value": curve.value(n, quantity), "model": curve.model, "reading": _(curve.reading),
               "spread": curve.spread.get((quantity, n))}
              for curve in curves for n in curve.by_length if curve.value(n, quantity) is not None]
    return to_spec(length_chart(values, _(unit), length, trained))


def _with_points(spec: dict[str, Any], points: list[dict[str, Any]], title: str) -> dict[str, Any]:
    """A copy of the chart, which Streamlit takes the data out of, with the typed text in it."""
    quantity = QUANTITIES[title][0]
    spec = copy.deepcopy(spec)
    rings = spec["layer"][-1]["data"]["name"]
    spec["datasets"][rings] = [point | {"value": point[quantity]} for point in points if point[quantity] is not None]
    return spec


@caches.remembered(worded=True)
def _heads_spec(curves: tuple[Curve, ...], length: int) -> dict[str, Any]:
    return to_spec(head_chart([
        {"which": curve.label, "layer": layer, "head": head, "nats": value}
        for curve in curves for layer, row in enumerate(curve.by_length.get(length, {}).get("entropy", []), 1)
        for head, value in enumerate(row, 1)], [curve.label for curve in curves]))


@caches.remembered()
def _csv(curves: tuple[Curve, ...]) -> str:
    return pandas.DataFrame([
        {"model": c.model, "reading": c.reading, "tokens": n, **{q: c.value(n, q) for q, _ in QUANTITIES.values()}}
        for c in curves for n in sorted(c.by_length)]).to_csv(index=False)


def _told(curves: Sequence[Curve], title: str, length: int) -> str:
    """A chart in words."""
    quantity, unit = QUANTITIES[title]
    known = [(curve.label, curve.value(length, quantity)) for curve in curves]
    values = "; ".join(f"{label} {value:.3f}" for label, value in known if value is not None)
    return _("{title} at {length} tokens, {unit}: {values}", title=_(title), length=length, unit=_(unit),
             values=values)


def _points(state: LabState, shown: str) -> tuple[list[dict[str, Any]], list[tuple[str, int]]]:
    """The text in the box as each model reads it: n and every quantity. And those that read less of it than there is,
    which have no point, with the tokens that they read."""
    points, unread = [], []
    for name in state.models:
        try:
            lab = serving.load(name)
            plan = state.alone(name).plan
            limit = typed_limit(lab, plan)
            prompt = compute.read(lab, shown, limit)
        except (CheckpointError, InputError):
            continue
        if prompt.left_out and name != state.model:  # of the first model the page shows what it reads, and says so
            unread.append((name, limit))
            continue
        points.append({"n": len(prompt.ids), "model": name, "reading": _(READINGS[plan.scale.policy]),
                       **compute.facts_of(lab, prompt, plan)})
    return points, unread
