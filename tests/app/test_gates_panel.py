"""Tests of the panel that shows the gates computed by the model itself.

pytest tests/app/test_gates_panel.py
"""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest
import torch
from streamlit.testing.v1 import AppTest

import models
from app.panels.prompt import gates
from figures.squares import gate_squares
from models.lab import run
from models.nets.attention.base import Record
from models.plan import HeadPlan
from models.trace import sink
from studies import store
from tests.app.test_pages import all_sent, opened
from tests.browser import ROOT
from tests.figures.specs import panels, rows
from tests.models.tiny import TEXT, make_lab

MODEL = "stories-softmax"


def test_a_traces_gates_are_those_that_multiplied():
    lab = make_lab("gated")
    trace = run(lab, TEXT)
    records: list[Record] = []
    lab.model(torch.tensor([trace.prompt.ids]), records=records)
    expected = numpy.stack([record.gates[0].numpy() for record in records])
    numpy.testing.assert_allclose(trace.gates["self"], expected, atol=1e-6)
    assert trace.gates["self"].shape == (*lab.shape["self"], len(trace.tokens))
    assert trace.gates["self"].min() > 0 and trace.gates["self"].max() < 1
    assert run(make_lab("softmax"), TEXT).gates == {}
    # a gate of the plan applies in addition to the computed gate, whose recorded value does not change
    closed = run(lab, TEXT, HeadPlan().gate("self", 0, 1, 0.0))
    numpy.testing.assert_allclose(closed.gates["self"][0], expected[0], atol=1e-6)
    assert closed.norms["self"][0, 1].max() == 0


def test_the_sink_is_the_weight_of_the_first_token():
    weights = numpy.array([[[1.0, 0, 0], [0.5, 0.5, 0], [0.1, 0.4, 0.5]]])
    assert sink(weights).tolist() == pytest.approx([0.3])
    assert sink(numpy.ones((2, 1, 1))).tolist() == [0, 0]


def test_the_picture_has_every_gate_and_tokens_are_text():
    values = numpy.random.default_rng(1).random((2, 3, 4))
    tokens = ["start", " it's", "'\\\\", "</b>"]
    spec = gate_squares(values.tolist(), tokens, 1).to_dict()
    for layer in range(2):
        found = {(row["down"], row["across"]): row["value"] for row in rows(spec, layer)}
        # tokens are plain strings, which Vega draws as text and not as markup
        assert found == {(f"{n} {token}", head): values[layer, head - 1, n - 1]
                         for n, token in enumerate(tokens, 1) for head in (1, 2, 3)}
    assert [panel["title"]["text"] for panel in panels(spec)] == ["layer 1", "layer 2 (selected)"]


def test_the_section_shows_gates_and_the_sink_beside_softmax(monkeypatch: pytest.MonkeyPatch):
    charted: list[dict] = []
    dots = gates.dots.spec
    monkeypatch.setattr(gates.dots, "spec", lambda points, *a, **k: charted.extend(points) or dots(points, *a, **k))
    app = AppTest.from_file(ROOT / "app" / "main.py", default_timeout=60)
    for key, value in {"model": "stories-gated", "text": "Once upon a time", "open": "gates"}.items():
        app.query_params[key] = value
    app.run()
    assert not app.exception
    assert "gates" in [header["what"] for header, _ in all_sent(app, "figure")]
    expected = {}
    for name in ("gated", "softmax"):
        share = sink(run(models.load(f"stories-{name}"), "Once upon a time").weights["self"]).mean(1)
        expected |= {(name, f"layer {layer}"): pytest.approx(value, abs=1e-4) for layer, value in enumerate(share, 1)}
    assert {(point["which"], point["name"]): point["value"] for point in charted} == expected
    windows = [store.read(f"stories-{name}", "sink")["by_window"] for name in ("gated", "softmax")]
    shares = (sum(its) / len(its) for its in windows)
    sentence = "On held-out texts, which are longer: gated {:.1%}, softmax {:.1%}.".format(*shares)
    assert any(caption.value.startswith(sentence) for caption in app.caption)


def test_an_empty_box_shows_the_gates_of_the_last_valid_text():
    app = opened(model="stories-gated", open="gates", text="")
    assert not app.exception and "sink" in [header["what"] for header, _ in all_sent(app, "figure")]


@pytest.mark.parametrize("content", ["{", "{}", '{"by_window": []}'])
def test_sinks_that_cannot_be_read_are_not_shown(content: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(store, "MEASUREMENTS", tmp_path)
    assert gates._over_texts("stories-gated") is None
    (tmp_path / "stories-gated.sink.json").write_text(content)
    assert gates._over_texts("stories-gated") is None


def test_models_without_gates_offer_none():
    app = AppTest.from_file(ROOT / "app" / "main.py", default_timeout=60)
    app.query_params["model"] = MODEL
    app.query_params["open"] = "gates"
    app.run()
    assert not app.exception
    assert "See: Gates" not in app.selectbox(key="section").options
    assert not gates.offered(run(make_lab("softmax"), TEXT))
