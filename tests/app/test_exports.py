"""Tests of exports: the files contain the values of the trace.

    pytest tests/app/test_exports.py
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import weakref

import numpy
import pytest

import models
from app import compute, exports
from app.panels.prompt import export
from app.state.handlers.head_events import on_heads
from models import HeadPlan
from models.trace import sketch_of
from tests.app.test_pages import opened
from tests.app.visitors import visiting

TEXT = "=1+1 <b>Once</b> upon a time"
PLAN = HeadPlan.parse("self-0.0~3c-1.2g0.5")
LINK = "https://example.org/?text=x"


@pytest.fixture(scope="module")
def lab():
    return models.load("stories-selective")


def made(lab, ending: str) -> bytes:
    return export.made(ending, weakref.ref(lab), lab.read(TEXT), PLAN, None, LINK)


def test_numpy_has_every_array_and_no_pickle(lab):
    trace = models.run(lab, TEXT, PLAN)
    file = numpy.load(io.BytesIO(made(lab, "npz")), allow_pickle=False)
    about = json.loads(str(file["about"]))
    assert (about["model"], about["plan"], about["link"]) == (lab.name, str(PLAN), LINK)
    assert about["tokens"]["text"] == trace.tokens
    for layer in range(4):
        for name in ("scores", "live", "weights"):
            expected = getattr(trace, name)["self"][layer]
            numpy.testing.assert_allclose(file[f"self {layer + 1} {name}"], expected, atol=1e-6)
    numpy.testing.assert_allclose(file["losses"], trace.losses, atol=1e-6)
    numpy.testing.assert_allclose(file["prediction 0"], trace.outputs[0].distribution, atol=1e-6)
    assert tuple(json.loads(str(file["names"]))) == trace.outputs[0].names


def test_json_has_the_same_numbers(lab):
    trace = models.run(lab, TEXT, PLAN)
    file = json.loads(made(lab, "json"))
    assert file["tokens"]["text"] == trace.tokens
    assert [(one["kind"], one["layer"]) for one in file["layers"]] == [("self", layer) for layer in (1, 2, 3, 4)]
    for one in file["layers"]:
        numpy.testing.assert_allclose(one["weights"], trace.weights["self"][one["layer"] - 1], atol=1e-6)
    assert file["losses"][-1] is None  # the last token has no loss, because its next token is unknown
    best = file["predictions"][0][0]
    assert (best["label"], best["probability"]) == (trace.output.labels[0],
                                                    pytest.approx(trace.output.probabilities[0], abs=1e-6))


def test_csv_is_the_trace_to_the_printed_digits(lab):
    trace = models.run(lab, TEXT, PLAN)
    assert made(lab, "csv").startswith(codecs.BOM_UTF8)  # without a byte order mark Excel shows wrong letters
    first, *lines = made(lab, "csv").decode("utf-8-sig").splitlines()
    assert first.startswith("# ") and LINK in first
    rows = list(csv.DictReader(lines))
    n = len(trace.tokens)
    assert len(rows) == 32 * n * (n + 1) // 2
    for row in rows[::7]:
        layer, head, query, key = (int(row[name]) - 1 for name in ("layer", "head", "query", "key"))
        assert float(row["weight"]) == pytest.approx(float(trace.weights["self"][layer, head, query, key]), rel=1e-5,
                                                     abs=1e-9)


def test_of_a_trace_that_is_too_large_the_file_has_the_selected_layer(lab, monkeypatch):
    trace = models.run(lab, TEXT, PLAN)
    monkeypatch.setattr(compute, "traces_of", lambda *_: (sketch_of(trace),) * 2)
    monkeypatch.setattr(compute, "layer_of", lambda lab, seen, plan, kind, layer: trace.layer(kind, layer))
    file = json.loads(export.made("json", weakref.ref(lab), trace.prompt, PLAN, ("self", 2), LINK))
    assert [one["layer"] for one in file["layers"]] == [3]


def test_nothing_is_made_or_sent_before_it_is_asked_for(lab, monkeypatch):
    monkeypatch.setattr(exports, "as_npz", lambda *_: pytest.fail("made too early"))
    app = opened(model=lab.name)
    assert not app.get("download_button")
    app.session_state["visit"].download = ("npz", 7)
    app.run()
    (button,) = app.get("download_button")
    assert button.proto.deferred_file_id and not button.proto.url


@pytest.mark.parametrize("what", ["exe", "../x", ["npz"], None, 3])
def test_a_file_that_nobody_offers_is_not_asked_for(what, monkeypatch):
    visit = visiting(monkeypatch)
    on_heads({"type": "take", "what": what, "sequence": 1})
    on_heads({"type": "take", "what": "npz", "sequence": "1"})
    assert visit.download is None
    on_heads({"type": "take", "what": "npz", "sequence": 1})
    assert visit.download == ("npz", 1)


def test_names_of_files_are_safe():
    assert exports.file_name("hf:../Org/Mödel", "all-heads", "npz") == "attention-lab_hf-org-m-del_all-heads.npz"
