"""Tests of exported files: they contain the values of the trace."""

import codecs
import csv
import io
import json

import numpy
import pytest

import models
from app import compute, exports
from app.panels import measures
from models import HeadPlan
from models.analysis.head_measures import confidences
from models.trace import divergence, sketch_of

TEXT = "=1+1 <b>Once</b> upon a time"
PLAN = HeadPlan.parse("self-0.0~3c-1.2g0.5")
LINK = "https://example.org/?text=x"


@pytest.fixture(scope="module")
def lab():
    return models.load("stories-selective")


def made(lab, ending: str) -> bytes:
    return exports.content_of(ending, lab, lab.read(TEXT), PLAN, None, LINK)


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


def test_files_have_the_effect_of_the_plan(lab):
    before, after = models.run(lab, TEXT), models.run(lab, TEXT, PLAN)
    kl = divergence(before.output, after.output)
    assert kl > 0
    json_file, npz = json.loads(made(lab, "json")), numpy.load(io.BytesIO(made(lab, "npz")), allow_pickle=False)
    assert json_file["kl"] == [pytest.approx(kl, abs=1e-6)] and npz["kl"] == pytest.approx(kl, abs=1e-6)
    numpy.testing.assert_allclose(npz["losses unmodified"], before.losses, atol=1e-6)
    numpy.testing.assert_allclose(npz["prediction 0 unmodified"], before.outputs[0].distribution, atol=1e-6)
    unmodified = json_file["unmodified"]
    numpy.testing.assert_allclose(unmodified["losses"][:-1], before.losses[:-1], atol=1e-6)
    assert [its["label"] for its in unmodified["predictions"][0]] == list(before.output.labels[:10])
    first = made(lab, "csv").decode("utf-8-sig").splitlines()[0]
    assert f"plan: {PLAN}" in first and f"{before.loss:.4f} unmodified, {after.loss:.4f} nats" in first
    assert float(first.rpartition(" ")[2]) == pytest.approx(kl, rel=1e-4)


def test_files_have_the_state_the_measures_and_the_roles_of_every_head(lab):
    """In all three file formats layers and heads are counted from 1, as on the screen."""
    heads = json.loads(made(lab, "json"))["heads"]
    assert heads == json.loads(str(numpy.load(io.BytesIO(made(lab, "npz")))["about"]))["heads"]
    assert [(one["layer"], one["head"]) for one in heads] == [(i, j) for i in range(1, 5) for j in range(1, 9)]
    by_head = {(one["layer"], one["head"]): one for one in heads}
    assert (by_head[2, 3]["gate"], by_head[1, 1]["constant"], by_head[3, 1]["gate"]) == (0.5, True, 1.0)
    confident = confidences(lab, models.run(lab, TEXT))["self"]
    for (layer, head), one in by_head.items():
        assert one["text"]["confidence"] == pytest.approx(confident[layer - 1, head - 1], abs=1e-6)
    stored = measures.over_a_corpus(lab)
    assert by_head[2, 3]["corpus"]["loss"] == pytest.approx(stored["kinds"]["self"]["loss"][1][2], abs=1e-6)
    expected = sorted((role["layer"] + 1, role["head"] + 1, role["role"]) for role in stored["roles"])
    assert expected == sorted((*key, role["role"]) for key, one in by_head.items() for role in one["roles"])
    assert expected


def test_csv_is_the_trace_to_the_printed_digits(lab):
    trace = models.run(lab, TEXT, PLAN)
    assert made(lab, "csv").startswith(codecs.BOM_UTF8)  # without this mark Excel shows wrong letters
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
    file = json.loads(exports.content_of("json", lab, trace.prompt, PLAN, ("self", 2), LINK))
    assert [one["layer"] for one in file["layers"]] == [3]


def test_names_of_files_are_safe():
    assert exports.file_name("hf:../Org/Mödel", "all-heads", "npz") == "attention-lab_hf-org-m-del_all-heads.npz"
