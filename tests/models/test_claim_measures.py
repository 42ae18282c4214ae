"""Measures that only claims use, on known texts and times, and the claims about memory and speed."""

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy
import pytest
import torch

from models.generate.decoding import generator
from models.nets.transformer import Transformer
from models.tasks.base import Pairs
from models.training.recipes import RECIPES
from studies.claims import FAILS, HOLDS, MISSING, ONCE, OPEN, measure
from studies.claims.sources import memory
from studies.claims.verdict import UNKNOWN, YES, Check
from tests.models.made_claims import Made, heads_as_the_source_has_them, timed


def test_pairs_give_probabilities():
    random = numpy.random.default_rng(1)
    pairs = random.integers(0, 3, (6, 6))
    pairs[2] = 0  # token 2 never has a successor
    single = numpy.full(6, 1 / 6)
    before, after = numpy.divmod(numpy.arange(36), 6)
    p = measure.pair_probability(pairs, single, before, after).reshape(6, 6)
    numpy.testing.assert_allclose(p.sum(1), 1)
    assert (p > 0).all()
    numpy.testing.assert_allclose(p[2], single)


def test_pairs_that_always_occur_together_have_perplexity_1():
    """In the text 1 2 1 2 ... after BOS, pairs predict every token except the first of the window."""
    class Alternating:
        def stream(self, corpus: str, split: str) -> torch.Tensor:
            return torch.tensor([1, 2]).repeat(512)

    assert measure.pairs_perplexity(Alternating()) == pytest.approx(1, abs=0.05)


def test_no_factor_changes_rows_of_relu2():
    found = measure.under_factors(torch.randn(16, 1, 64, 64, generator=generator(4)))
    assert found["relu2_change"] < 1e-6 and found["softmax_change"] > 0.1
    assert found["softmax_entropy"] == sorted(found["softmax_entropy"], reverse=True)


def test_the_fused_model_computes_what_softmax_does():
    model = measure.fused()
    plain = Transformer(RECIPES["stories-softmax"].config).eval()
    plain.load_state_dict(model.state_dict())
    ids = torch.randint(1, 4096, (2, 40), generator=generator(8))
    with torch.inference_mode():
        torch.testing.assert_close(model(ids), plain(ids), rtol=1e-4, atol=1e-4)


def test_speed_is_a_ratio_of_both(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(measure, "BLOCKS", 3)
    # fake times: models with tables (random) take half as long
    monkeypatch.setattr(measure, "_seconds", lambda work, model: 1.0 if model.longest else 2.0)
    rows = measure.speed(None, Path())["rows"]
    assert {(row["what"], row["against"], row["texts"], row["tokens"]) for row in rows} == {
        (what, against, texts, tokens) for what in ("attention layer", "whole model")
        for against in ("softmax", "fused softmax") for texts in (1, 8) for tokens in (128, 256)}
    assert all(row["median"] == row["quartiles"][0] == row["quartiles"][1] == 0.5 for row in rows)
    assert all(row["blocks"] == [0.5] * 3 for row in rows)


def test_a_block_alternates_both_and_divides_their_sums():
    order = []
    times = {"one": iter([1.0, 3.0]), "other": iter([2.0, 2.0])}

    def timed(name: str) -> float:
        order.append(name)
        return next(times[name])

    assert measure.block_ratio(lambda: timed("one"), lambda: timed("other"), 2) == 1.0
    assert order == ["one", "other"] * 2


def test_training_speed_is_a_ratio_on_the_same_batches_of_one_shape(monkeypatch: pytest.MonkeyPatch):
    seen: list[tuple[str, Pairs]] = []

    class Corpus:
        def batch(self, step: int, steps: int, seed: int) -> Pairs:
            return Pairs(*(torch.full((2, 9 if step % 3 else 5), step) for _ in range(3)))

    class Known:
        def __init__(self, name: str, precision: str) -> None:
            self.name = name

        def seconds(self, batch: Pairs) -> float:
            seen.append((self.name, batch))
            return 0.8 if self.name == measure.PLAIN else 1.0

    monkeypatch.setattr(measure, "task_of", lambda *given: SimpleNamespace(corpus=Corpus()))
    monkeypatch.setattr(measure, "TimedTraining", Known)
    found = measure.training_speed(Path(), Path())
    assert [row["name"] for row in found["rows"]] == [*measure.COMPARED] and len(measure.COMPARED) == 8
    assert all(row["median"] == row["quartiles"][0] == row["quartiles"][1] == 0.8 for row in found["rows"])
    assert all(row["blocks"] == [0.8] * measure.BLOCKS for row in found["rows"])
    assert found["shape"] == [2, 9] and found["blocks"] == measure.BLOCKS
    for (one, first), (other, second) in zip(seen[::2], seen[1::2], strict=True):
        assert one == measure.PLAIN != other and first is second and first.tokens.shape == (2, 9)


def test_a_training_takes_steps(monkeypatch: pytest.MonkeyPatch):
    """The timed training performs optimiser steps, and the measured time is positive."""
    monkeypatch.setitem(RECIPES, measure.PLAIN, replace(RECIPES[measure.PLAIN], compiled=False))
    ids = torch.randint(3, 4000, (2, 2, 7), generator=generator(9))
    batch = Pairs(ids[0], ids[1], ids[0])
    its = measure.TimedTraining(measure.PLAIN, "float32")
    before = its._model.embedding.weight.clone()
    assert its.seconds(batch) > 0 and not torch.equal(before, its._model.embedding.weight)


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
