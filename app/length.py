"""The Length page: what a longer text does to loss, accuracy, entropy and normaliser of the chosen models.

Curves were measured on held-out text (models/lengths.py); the points are the text in the box, read now.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

import pandas
import streamlit as st

from app import compare, compute, frame, serving, session, text
from app.state import LabState
from app.text import Reading
from components.charts import head_chart, length_chart
from models import Lab
from models.checkpoint import CheckpointError
from models.lengths import read_lengths, typed_limit
from models.short import read_seeds
from models.tasks.base import InputError

QUANTITIES = {"Loss": ("loss", "nats"), "Accuracy": ("accuracy", "share right"),
              "Entropy of a row, mean of all heads": ("entropy", "nats"),
              "Normaliser of a row, mean of all heads": ("log_normaliser", "ln Z")}
TRAINED = "as trained"
READINGS = {"trained": TRAINED, "sqrt": "1/√d", "logn": "log n", "fixed": "n as trained", "length": "n = length"}


@dataclass(frozen=True)
class Curve:
    """One model in one reading.

    Attributes:
        model: its name.
        reading: one of READINGS' values.
        by_length: tokens -> what models.lengths.measure returned.
    """

    model: str
    reading: str
    by_length: dict[int, dict[str, Any]]

    @property
    def label(self) -> str:
        return self.model if self.reading == TRAINED else f"{self.model}, read with {self.reading}"

    def value(self, length: int, quantity: str) -> float | None:
        """A number at a length; of what is there by layer and head, the mean; None where nothing was measured."""
        found = self.by_length.get(length, {}).get(quantity)
        if isinstance(found, list):
            return fmean(value for layer in found for value in layer)
        return found


@st.fragment
def page() -> None:
    frame.under_header(_draw, limit=typed_limit)


def _draw(lab: Lab, reading: Reading, state: LabState) -> None:
    compare.choose(lab.name)
    names = (lab.name, *state.compared)
    curves = [curve for name in names for curve in curves_of(name)]
    missing = [name for name in names if not curves_of(name)]
    if missing:
        st.info(f"Not measured yet: {text.plain(', '.join(missing))}.")
    if not curves:
        return
    lengths = sorted({n for curve in curves for n in curve.by_length})
    length = state.length if state.length in lengths else min(lengths, key=lambda n: abs(n - lab.trained_length))
    st.session_state[session.LENGTH] = length
    st.select_slider("Length, tokens", lengths, key=session.LENGTH, on_change=session.on_length)
    points = pandas.DataFrame([point for name in names for point in _points(name, state, reading.shown)])
    titles = list(QUANTITIES)
    for row in (titles[:2], titles[2:]):
        for column, title in zip(st.columns(2, gap="medium"), row, strict=True):
            with column:
                st.markdown(f"**{title}**")
                st.altair_chart(length_chart(_table(curves, title), QUANTITIES[title][1], length,
                                             lab.trained_length, points, QUANTITIES[title][0]))
    st.caption(f"Lines: measured on {measured_tokens(curves):,} held-out tokens at each length. Grey rule: the trained "
               f"length, {lab.trained_length}. Bars: ± one standard deviation over seeds of a shorter training, where "
               "there are such. Rings: the text in the box, under your plan; at most "
               f"{reading.limit} tokens of it.")
    st.markdown(f"**Every head at {length} tokens**: mean entropy of a row in nats, of at most {math.log(length):.2f} "
                "for the last query.")
    st.altair_chart(head_chart(_heads(curves, length), [c.label for c in curves]))
    table = pandas.DataFrame([
        {"model": c.model, "reading": c.reading, "tokens": n, **{q: c.value(n, q) for q, _ in QUANTITIES.values()}}
        for c in curves for n in sorted(c.by_length)])
    st.download_button("Download as CSV", table.to_csv(index=False), "length.csv", "text/csv",
                       on_click="ignore")


@functools.lru_cache(64)
def curves_of(name: str) -> tuple[Curve, ...]:
    """The measured curves of a model, as it was trained first; none if it was not measured."""
    measured = read_lengths(name)
    if measured is None:
        return ()
    return tuple(Curve(name, READINGS[policy], {int(n): values for n, values in by_length.items()})
                 for policy, by_length in measured["readings"].items())


def measured_tokens(curves: list[Curve]) -> int:
    """Tokens that the loss at each length is the mean over."""
    return read_lengths(curves[0].model)["tokens_per_length"]


def _table(curves: list[Curve], title: str) -> pandas.DataFrame:
    """Columns n, value, model, reading, spread: one standard deviation over seeds, NaN where unknown."""
    quantity = QUANTITIES[title][0]
    return pandas.DataFrame([
        {"n": n, "value": curve.value(n, quantity), "model": curve.model, "reading": curve.reading,
         "spread": spread(curve, quantity, n)}
        for curve in curves for n in curve.by_length if curve.value(n, quantity) is not None])


def spread(curve: Curve, quantity: str, n: int) -> float:
    """Standard deviation over the seeds of a model's short trainings, as it was trained; NaN if there are not two."""
    if curve.reading != TRAINED:
        return math.nan
    seeds = read_seeds(curve.model)
    key = f"{quantity}_by_length"
    values = [metric[key][str(n)] for metric in seeds.values() if str(n) in metric.get(key, {})]
    return stdev(values) if len(values) > 1 else math.nan


def _points(name: str, state: LabState, shown: str) -> list[dict[str, Any]]:
    """The text in the box as one model reads it: n and every quantity; none if it cannot be read."""
    try:
        lab = serving.load(name)
        plan = state.with_model(name).plan
        prompt = compute.read(lab, shown, typed_limit(lab, plan))
    except (CheckpointError, InputError):
        return []
    return [{"n": len(prompt.ids), "model": name, "reading": READINGS[plan.scale.policy],
             **compute.facts_of(lab, prompt, plan)}]


def _heads(curves: list[Curve], length: int) -> pandas.DataFrame:
    """Columns which, layer, head (from 1), nats."""
    return pandas.DataFrame([
        {"which": curve.label, "layer": layer, "head": head, "nats": value}
        for curve in curves for layer, row in enumerate(curve.by_length.get(length, {}).get("entropy", []), 1)
        for head, value in enumerate(row, 1)], columns=["which", "layer", "head", "nats"])
