"""Tests of the claims about memory and speed: missing rows, missing models, and budgets of memory."""

import json
import math

import numpy
import pytest

from studies.claims import FAILS, HOLDS, MISSING, ONCE, OPEN
from studies.claims.sources import memory
from studies.claims.verdict import UNKNOWN, YES, Check
from tests.models.made_claims import Made, heads_as_the_source_has_them, timed


def test_memory_of_a_model_that_is_not_measured_could_still_decide():
    lost = memory._reach({1.0: numpy.full(20, 0.5), 4.0: numpy.full(20, 0.6)}, numpy.zeros(20))
    far = memory.Reach(8.0, math.inf, {1.0: Check("", YES), 8.0: Check("", YES)})
    assert [memory._most({"selective": one, "memory loss": None})[0].outcome for one in (lost, far)] == [UNKNOWN, YES]


@pytest.mark.parametrize(("key", "file"), [
    ("heads-roles", "stories-softmax.heads.json"), ("heads-agree", "masked-softmax.heads.json")])
def test_a_statement_about_all_models_is_open_while_one_is_missing(sources: Made, key: str, file: str):
    heads_as_the_source_has_them(sources)
    assert sources.verdicts()[key] == ONCE
    (sources.folder / "measurements" / file).unlink()
    assert sources.verdicts()[key] == MISSING


@pytest.mark.parametrize(("key", "part"), [("disagreement-slower", "training_speed"), ("synthesizer-speed", "speed")])
def test_speed_is_open_while_a_row_is_missing(sources: Made, key: str, part: str):
    assert sources.verdicts()[key] == HOLDS
    path = sources.folder / "measurements" / "claims.json"
    found = json.loads(path.read_text())
    found[part]["rows"] = [row for row in found[part]["rows"] if "out" not in row.get("name", "")][:15]
    path.write_text(json.dumps(found))
    assert sources.verdicts()[key] == MISSING


@pytest.mark.parametrize(("fused", "verdict"), [
    ([0.7, 0.9], HOLDS), ([0.9, 1.1], OPEN), ([1.1, 1.2], FAILS), (None, MISSING)])
def test_random_is_timed_against_both_kinds_of_softmax(made: Made, fused: list[float] | None, verdict: str):
    rows = timed({"softmax": [0.7, 0.9]} | ({"fused softmax": fused} if fused else {}))
    made.measured("claims.json", {"speed": {"rows": rows, "repetitions": 60}})
    assert made.verdicts()["synthesizer-speed"] == verdict


def test_memory_is_read_by_way_and_only_of_the_present_weights(made: Made):
    made.card("stories-selective", {"perplexity": 36.0})
    made.memory("selective", 36.0, {2: 37.0})
    assert made.evidence.memory("stories-selective") == {1: 36.0, 2: 37.0}
    assert made.evidence.memory("stories-selective", "chosen-oldest") == {1: 36.0, 2: 99.0}
    made.card("stories-selective", {"perplexity": 35.0})
    assert made.evidence.memory("stories-selective") == {}


def test_memory_needs_softmaxs_on_the_same_windows(sources: Made):
    for name in ("selective", "selective-memory"):
        sources.memory(name, 36.0, {2: 39.0, 4: 40.0})
    assert sources.verdicts()["selective-memory"] == FAILS
    (sources.folder / "measurements" / "stories-softmax.memory.json").unlink()
    assert sources.verdicts()["selective-memory"] == MISSING


def test_at_512_as_much_must_go_as_in_the_source(sources: Made):
    sources.memory("selective-512", 36.0, {4: 38.0, 8: 39.0})
    assert sources.verdicts()["selective-memory-512"] == ONCE  # the memory loss decides
    sources.memory("selective-memory-512", 39.0, {2: 39.0, 16: 39.0})
    assert sources.verdicts()["selective-memory-512"] == FAILS
    (sources.folder / "measurements" / "stories-selective-memory-512.memory.json").unlink()
    assert sources.verdicts()["selective-memory-512"] == MISSING
