"""Constant heads are PAPA's (Hassid et al. 2022, arXiv 2211.03495): means over texts, which no input can change."""

from __future__ import annotations

import torch
from tiny import HEADS, LAYERS, all_heads, random_ids, trace_of, with_constant
from torch.testing import assert_close

from models.attention.base import Record
from models.checkpoint import mean_weights, pack, unpack
from models.heads import HeadPlan
from models.lab import Lab

N = 11
EXACTLY = {"rtol": 0, "atol": 0}


def test_the_mean_of_one_text_is_that_text(lab: Lab):
    """Every head constant at the mean over one text: its weights and output come out as they were, bit by bit."""
    ids = random_ids(1, N)
    only = with_constant(lab, mean_weights(lab.model, ids))
    before, after = trace_of(only, ids[0]), trace_of(only, ids[0], all_heads(constant=True))
    assert_close(torch.tensor(after.weights["self"]), torch.tensor(before.live["self"]), **EXACTLY)
    assert_close(torch.tensor(after.losses), torch.tensor(before.losses), equal_nan=True, **EXACTLY)
    assert_close(torch.tensor(after.output.distribution), torch.tensor(before.output.distribution), **EXACTLY)


def test_the_mean_is_a_mean(lab: Lab):
    """Over 70 texts, more than are computed at once, against one text after the other in float64."""
    texts = random_ids(70, N)
    total = torch.zeros(LAYERS, HEADS, N, N, dtype=torch.float64)
    for text in texts:
        records: list[Record] = []
        lab.model(text[None], records=records)
        for layer, record in enumerate(records):
            total[layer] += record.live[0].double()
    mean = mean_weights(lab.model, texts)
    assert_close(mean.double(), total / 70, rtol=1e-5, atol=1e-7)
    assert_close(mean.sum(-1), torch.ones(LAYERS, HEADS, N))
    assert mean.dtype == torch.float32 and not torch.equal(mean, mean_weights(lab.model, texts[:32]))


def test_a_constant_head_is_blind(lab: Lab):
    """Two texts of equal length: equal weights in the constant heads, which are the stored ones, others differ."""
    plan = HeadPlan().constant("self", 0, 1).constant("self", 1, 2)
    one, other = (trace_of(lab, ids, plan) for ids in random_ids(2, N))
    for layer in range(LAYERS):
        for head in range(HEADS):
            weights = [torch.tensor(trace.weights["self"][layer, head]) for trace in (one, other)]
            if plan.state("self", layer, head).constant:
                assert_close(weights[0], weights[1], **EXACTLY)
                assert_close(weights[0], lab.constant["self"][layer, head, :N, :N], **EXACTLY)
            else:
                assert (weights[0] - weights[1]).abs().max() > 0.01
                assert_close(weights[0], torch.tensor(one.live["self"][layer, head]), **EXACTLY)


def test_heads_beside_a_constant_one_are_untouched(lab: Lab):
    """In its own layer; later layers see another input."""
    ids = random_ids(1, N)[0]
    before, after = trace_of(lab, ids), trace_of(lab, ids, HeadPlan().constant("self", 0, 1))
    for name in ("scores", "live"):
        assert_close(torch.tensor(getattr(after, name)["self"][0]), torch.tensor(getattr(before, name)["self"][0]),
                     **EXACTLY)
    for head in (0, 2, 3):
        used, live = after.weights["self"][0, head], before.live["self"][0, head]
        assert_close(torch.tensor(used), torch.tensor(live), **EXACTLY)
    assert abs(after.live["self"][1] - before.live["self"][1]).max() > 0.01


def test_slices_of_the_constant_matrices_sum_to_1(lab: Lab):
    """A text of n tokens uses the first n rows and columns."""
    constant = lab.constant["self"]
    for n in range(1, lab.task.limit + 1):
        intervention = lab.interventions(HeadPlan().constant("self", 1, 0), n)[1]
        assert_close(intervention.constant, constant[1, :, :n, :n], **EXACTLY)
        assert_close(intervention.constant.sum(-1), torch.ones(HEADS, n))
    assert_close(constant.triu(1), torch.zeros_like(constant), **EXACTLY)


def test_float16_keeps_the_constant_matrices(lab: Lab):
    """Half precision has 11 binary digits: each entry is off by 2^-11 at most, its row's sum too, so their ratio by
    2^-10; entries under 2^-24 are lost."""
    constant = lab.constant["self"]
    read = unpack(pack(constant).half(), lab.task.limit)
    assert_close(read, constant, rtol=2**-10, atol=2**-24)
    assert_close(read.sum(-1), torch.ones(LAYERS, HEADS, lab.task.limit))
    assert_close(unpack(pack(constant), lab.task.limit), constant)
    assert pack(constant).shape[-1] == 128 * 129 // 2
