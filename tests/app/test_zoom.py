"""Tests of the section Zoom of the Explore page: the pattern of the selected head, its files, and the mask F in 3-D.

    pytest tests/app/test_zoom.py
"""

from __future__ import annotations

import base64
import csv
import io
import json
import tomllib
from typing import Any

import numpy
import pytest
from streamlit.testing.v1 import AppTest
from test_pages import all_sent, opened

import models
from app.panels.prompt import zoom
from app.state import session
from figures.theme import palette
from tests.browser import ROOT
from tests.figures.specs import rows

TYPED = "Once upon a time there was a <b>little</b> girl"


def charts(app: AppTest) -> list[dict[str, Any]]:
    """Returns the plotly figures."""
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


def values(chart: dict[str, Any]) -> numpy.ndarray:
    """Returns the values of a figure, as float64."""
    z = chart["data"][0]["z"]
    flat = numpy.frombuffer(base64.b64decode(z["bdata"]), dtype=z["dtype"])
    return flat.reshape([int(side) for side in z["shape"].split(",")]).astype(numpy.float64)


@pytest.mark.parametrize("name", ["stories-softmax", "stories-selective", "masked-softmax"])
def test_the_selected_head_under_the_plan(name: str):
    plan = models.HeadPlan().constant("self", 1, 2)
    app = opened(model=name, open="zoom", text=TYPED, at="1.2", plan=str(plan))
    assert not app.exception
    assert app.selectbox(key="section").value == "zoom"
    weights = models.run(models.load(name), TYPED, plan).weights["self"][1, 2]
    (chart,) = charts(app)
    assert (values(chart) == weights.astype(numpy.float64)).all()
    assert not any("<" in label for label in chart["data"][0]["x"])
    assert chart["layout"]["xaxis"]["title"]["text"] == "key token"
    ((header, _arrays),) = (found for found in all_sent(app, "figure") if found[0]["what"] == "pattern")
    assert [row["value"] for row in rows(header["spec"])] == weights.astype(numpy.float64).ravel().tolist()
    assert header["alt"].startswith("Attention pattern of layer 2, head 3. Largest weights: query ")
    assert [box.label for box in app.expander] == (["Mask F over time, in 3-D"] if name == "stories-selective" else [])


def test_several_selected_heads_are_small_multiples():
    """The four heads of the selection have one scale, common axes and a file with all weights."""
    plan = models.HeadPlan().constant("self", 1, 2)
    app = opened(model="stories-selective", open="zoom", text=TYPED, at="1.2.and.0.3.1.1.3.7", plan=str(plan))
    assert not app.exception
    trace = models.run(models.load("stories-selective"), TYPED, plan)
    (chart,) = charts(app)
    heads = [(0, 3), (1, 1), (1, 2), (3, 7)]
    assert [note["text"] for note in chart["layout"]["annotations"][:4]] == [
        f"{layer + 1}.{head + 1}" for layer, head in heads]
    weights = numpy.stack([trace.weights["self"][head] for head in heads])
    for number, data in enumerate(chart["data"]):
        assert (values({"data": [data]}) == weights[number].astype(numpy.float64)).all()
        assert data["zmax"] == float(weights.max()) and data.get("showscale", True) == (number == 0)
    for letter in "xy":  # each axis follows one axis
        axes = {chart["layout"][f"{letter}axis{number}"].get("matches", f"{letter}{number}") for number in (2, 3, 4)}
        assert axes == {f"{letter}3"} and chart["layout"][f"{letter}axis"]["matches"] == f"{letter}3"
    assert [button.label for button in app.get("download_button")] == ["Patterns as CSV"]
    names = [f"layer {layer + 1}, head {head + 1}" for layer, head in heads]
    tokens = list(trace.tokens)
    table = list(csv.reader(io.StringIO(zoom.all_to_csv(weights, names, tokens, tokens).decode("utf-8-sig"))))
    starts = [table.index([name]) for name in names]
    assert [float(table[start + 4][2]) for start in starts] == pytest.approx(weights[:, 2, 1].tolist(), rel=1e-6)


def test_at_most_sixteen_heads_are_drawn():
    app = opened(model="stories-softmax", open="zoom", text=TYPED, at="1.2.all")
    assert len(charts(app)[0]["data"]) == 16
    assert any("first 16 of 32" in caption.value for caption in app.caption)


def test_the_mask_in_3d():
    app = opened(model="stories-selective", open="zoom", text=TYPED, at="2.0")
    app.session_state[session.SURFACE] = True
    app.run()
    assert not app.exception
    _pattern, surface = charts(app)
    mask = models.run(models.load("stories-selective"), TYPED).mask[2].astype(numpy.float64)
    shown = values(surface)
    assert (shown[~numpy.isnan(shown)] == mask[numpy.tril_indices(len(mask))]).all()


def test_a_long_text_has_a_file_of_its_pattern():
    app = opened(model="stories-softmax", open="zoom", text="The cat sat on the mat. " * 15)
    assert not app.exception
    assert len(values(charts(app)[0])) > zoom.MOST_SQUARES
    assert [button.label for button in app.get("download_button")] == ["Pattern as CSV"]
    assert not [header for header, _ in all_sent(app, "figure") if header["what"] == "pattern"]


def test_the_file_of_a_pattern():
    weights = numpy.array([[1, 0], [0.25, 0.75]], numpy.float32)
    table = list(csv.reader(io.StringIO(zoom.to_csv(weights, ["=a", "b,c"], ["=a", "b\n"]).decode("utf-8-sig"))))
    assert table == [["query token", "1 =a", "2 b\n"], ["1 =a", "1", "0"], ["2 b,c", "0.25", "0.75"]]


def test_f_of_a_sketch_is_summed_from_its_scores():
    lab = models.load("stories-selective")
    trace = models.run(lab, TYPED)
    sketch = models.trace.sketch_of(trace)
    for layer in range(4):
        selections = lab.selected(trace.scores["self"][layer])
        assert zoom.mask_of(sketch, layer, selections) == pytest.approx(trace.mask[layer], abs=1e-4)


def test_plotly_has_the_sequential_colours_of_the_app():
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))["theme"]
    for name in ("light", "dark"):
        colours = palette(name)["sequential"]
        assert config[name]["chartSequentialColors"] == [colours[round(place * 16 / 9)] for place in range(10)]
