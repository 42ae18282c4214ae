"""Attention sinks and computed gates, against the trace of a single text and against gates of a plan.

pytest tests/models/test_sinks.py
"""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

import models
from models.loading import own
from models.nets.attention.base import Intervention
from models.studies.corpus.sinks import gates_of, has_gates, measure, shares_of, with_gates
from models.tasks.base import Batch
from models.trace import sink

TEXT = "One day Emma saw a little bird. The bird looked at Emma and"


def batch_of(name: str) -> Batch:
    ids = torch.tensor([own(name).read(TEXT).ids])
    return Batch(ids, torch.cat((ids[:, 1:], torch.full((1, 1), -1)), 1))


@pytest.mark.parametrize("name", ["stories-softmax", "stories-gated"])
def test_shares_are_the_traces(name: str):
    lab, trace = own(name), models.run(own(name), TEXT)
    assert_close(shares_of(lab.model, [batch_of(name)])[0], torch.from_numpy(sink(trace.weights["self"])),
                 rtol=1e-4, atol=1e-5)
    assert has_gates(lab.model) == (name == "stories-gated") == bool(trace.gates)


def test_gates_are_the_traces():
    lab, trace = own("stories-gated"), models.run(own("stories-gated"), TEXT)
    found = gates_of(lab.model, [batch_of("stories-gated")])[0]
    assert_close(found, torch.from_numpy(trace.gates["self"]), rtol=1e-4, atol=1e-5)


@torch.inference_mode()
def test_gates_for_every_token_are_those_of_a_plan_on_open_ones():
    """Constant gates in the model equal a plan's gates on a model whose computed gates are all 1."""
    model, tokens = own("stories-gated").model, batch_of("stories-gated").tokens
    gates = torch.rand((4, 8), generator=torch.Generator().manual_seed(0))
    is_open = with_gates(model, torch.ones(4, 8))
    assert_close(with_gates(model, gates)(tokens),
                 is_open(tokens, [Intervention(gate=its.view(8, 1, 1)) for its in gates]), rtol=1e-4, atol=1e-4)
    assert not torch.allclose(is_open(tokens), model(tokens), atol=0.1)
    # the model is unchanged afterwards
    assert has_gates(model) and model.blocks[0].attention.gating.weight.shape == (8, 192)


def test_what_is_measured():
    model, batch = own("stories-gated").model, batch_of("stories-gated")
    found = measure(model, [batch], [batch])
    assert found["windows"] == 1 and found["window"] == batch.tokens.shape[1]
    assert found["by_window"][0] == pytest.approx(sum(map(sum, found["share"])) / 32, abs=1e-4)
    gates = gates_of(model, [batch])[0]
    assert found["gates"]["closed"] == pytest.approx(float((gates < 0.1).float().mean()), abs=1e-4)
    assert found["gates"]["first"] == pytest.approx(float(gates[:, :, 0].mean()), abs=1e-4)
    assert found["gates"]["by_window"][0] == pytest.approx(sum(map(sum, found["gates"]["mean"])) / 32, abs=1e-4)
    assert set(found["losses"]) == set(found["perplexity"]) == {"own", "constant", "open"}
    for way, losses in found["losses"].items():
        assert torch.tensor(losses).exp().item() == pytest.approx(found["perplexity"][way], rel=1e-2)
    assert found["perplexity"]["own"] < found["perplexity"]["constant"] < found["perplexity"]["open"]
    assert set(measure(own("stories-softmax").model, [batch], [batch])) == {"windows", "window", "share", "by_window"}
