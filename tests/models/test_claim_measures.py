"""What the claims measure beside cards and seeds, on texts and timings that are known.

    pytest tests/models/test_claim_measures.py
"""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest
import torch

from models.recipes import RECIPES
from models.studies.claims import measure
from models.tasks.base import generator
from models.transformer import Transformer


def test_pairs_give_probabilities():
    random = numpy.random.default_rng(1)
    pairs = random.integers(0, 3, (6, 6))
    pairs[2] = 0  # a token that nothing followed
    single = numpy.full(6, 1 / 6)
    before, after = numpy.divmod(numpy.arange(36), 6)
    p = measure.pair_probability(pairs, single, before, after).reshape(6, 6)
    numpy.testing.assert_allclose(p.sum(1), 1)
    assert (p > 0).all()
    numpy.testing.assert_allclose(p[2], single)


def test_pairs_that_always_come_together_are_no_surprise():
    """1 2 1 2 ... after BOS: all but the window's first token is known."""
    class Alternating:
        def _stream(self, corpus: str, split: str) -> torch.Tensor:
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
    monkeypatch.setattr(measure, "REPETITIONS", 3)
    monkeypatch.setattr(measure, "_seconds", lambda work, model: 1.0 if model.longest else 2.0)  # random has tables
    rows = measure.speed(None, Path())["rows"]
    assert {(row["what"], row["against"], row["texts"], row["tokens"]) for row in rows} == {
        (what, against, texts, tokens) for what in ("attention layer", "whole model")
        for against in ("softmax", "fused softmax") for texts in (1, 8) for tokens in (128, 256)}
    assert all(row["median"] == row["quartiles"][0] == row["quartiles"][1] == 0.5 for row in rows)
