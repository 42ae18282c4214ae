"""Constant heads as in PAPA (Hassid et al. 2022, arXiv 2211.03495): their weights are mean patterns over texts."""

import numpy
import pytest
import torch
from tiny import BIDIRECTIONAL, LAYERS, address, all_heads, make_lab, random_ids, trace_of, with_constant
from torch.testing import assert_close

from models.catalogue import names
from models.labs.stack import StackLab
from models.loading import own
from models.nets.attention.base import Record
from models.nets.mean_patterns import mean_patterns
from models.plan import HeadPlan

N = 11
EXACTLY = {"rtol": 0, "atol": 0}
BLIND = {"random", "fixed-random", "factorized-random"}  # types whose attention weights are the same for every text


def sees_texts(lab: StackLab) -> bool:
    return lab.model.config.attention not in BLIND


def test_the_mean_of_one_text_is_that_text(lab: StackLab):
    """With every head constant at the mean over one text, results for this text are unchanged bit by bit."""
    ids = random_ids(1, N)
    only = with_constant(lab, mean_patterns(lab.model, ids))
    before, after = trace_of(only, ids[0]), trace_of(only, ids[0], all_heads(lab, constant=True))
    assert_close(torch.tensor(after.weights["self"]), torch.tensor(before.live["self"]), **EXACTLY)
    assert_close(torch.tensor(after.losses), torch.tensor(before.losses), equal_nan=True, **EXACTLY)
    assert_close(torch.tensor(after.output.distribution), torch.tensor(before.output.distribution), **EXACTLY)


def test_the_mean_is_a_mean(lab: StackLab):
    """The mean over 70 texts, which are more than one batch, equals a loop over single texts in float64."""
    texts = random_ids(70, N)
    total = torch.zeros(*lab.shape["self"], N, N, dtype=torch.float64)
    for text in texts:
        records: list[Record] = []
        lab.model(text[None], records=records)
        for layer, record in enumerate(records):
            total[layer] += record.live[0].double()
    mean = mean_patterns(lab.model, texts)
    assert_close(mean.double(), total / 70, rtol=1e-5, atol=1e-7)
    assert mean.dtype == torch.float32
    if lab.attention.is_distribution:
        assert_close(mean.sum(-1), torch.ones(*lab.shape["self"], N))
    few = mean_patterns(lab.model, texts[:32])
    if sees_texts(lab):
        assert (mean - few).abs().max() > 0.01
    else:  # types with tables have the same weights for every text, so the mean equals them
        assert_close(few, mean)


def test_a_constant_head_is_blind(lab: StackLab):
    """In constant heads two texts of equal length have the same weights, which are the stored ones. Other heads differ,
    unless their attention type ignores the text."""
    plan = HeadPlan().constant(*address(lab, 0, 1)).constant(*address(lab, 1, 2))
    one, other = (trace_of(lab, ids, plan) for ids in random_ids(2, N))
    for layer in range(LAYERS):
        for head in range(lab.shape["self"][1]):
            weights = [torch.tensor(trace.weights["self"][layer, head]) for trace in (one, other)]
            if plan.state("self", layer, head).constant:
                assert_close(weights[0], weights[1], **EXACTLY)
                assert_close(weights[0], lab.constant["self"][layer, head, :N, :N], **EXACTLY)
            else:
                assert ((weights[0] - weights[1]).abs().max() > 0.01) == sees_texts(lab)
                assert_close(weights[0], torch.tensor(one.live["self"][layer, head]), **EXACTLY)


def test_other_heads_of_a_constant_head_s_layer_are_unchanged(lab: StackLab):
    """Other heads of the same layer are unchanged. Heads of later layers change, because their input changes."""
    ids = random_ids(1, N)[0]
    constant = address(lab, 0, 1)
    before, after = trace_of(lab, ids), trace_of(lab, ids, HeadPlan().constant(*constant))
    for name in ("scores", "live"):
        assert_close(torch.tensor(getattr(after, name)["self"][0]), torch.tensor(getattr(before, name)["self"][0]),
                     **EXACTLY)
    for head in {*range(lab.shape["self"][1])} - {constant[2]}:
        used, live = after.weights["self"][0, head], before.live["self"][0, head]
        assert_close(torch.tensor(used), torch.tensor(live), **EXACTLY)
    assert (abs(after.live["self"][1] - before.live["self"][1]).max() > 0.01) == sees_texts(lab)


@pytest.fixture(params=BIDIRECTIONAL)
def bidirectional(request: pytest.FixtureRequest) -> StackLab:
    return make_lab(request.param, causal=False)


@pytest.mark.parametrize("n", [1, 2, 11, 127, 128])
def test_slices_of_bidirectional_matrices_sum_to_1_again(bidirectional: StackLab, n: int):
    """Keys beyond the text are cut off and each row is divided by its sum, as in PAPA (mask_and_normalize). The oracle
    works row by row in float64. Rows of relu² attention are cut only, because they do not sum to 1."""
    for layer in range(LAYERS):
        expected = bidirectional.constant["self"][layer, :, :n, :n].double()
        if bidirectional.attention.is_distribution:
            for row in expected.flatten(0, 1):
                row /= sum(row.tolist())
        found = torch.from_numpy(bidirectional.constant_of("self", layer, n, n))
        assert_close(found.double(), expected, rtol=1e-5, atol=1e-9)
        used = bidirectional.interventions(HeadPlan().constant("self", layer, 0), n)[layer].constant
        assert_close(used, found, **EXACTLY)


def test_a_row_whose_weight_lies_beyond_the_text_weighs_all_keys_alike():
    lab = make_lab("softmax", causal=False)
    constant = torch.zeros_like(lab.constant["self"])
    constant[..., torch.arange(128), (torch.arange(128) + 4).clamp(max=127)] = 1  # heads attend 4 tokens ahead
    ahead = with_constant(lab, constant)
    matrices = torch.from_numpy(ahead.constant_of("self", 0, 6, 6))
    assert_close(matrices[0, 1], torch.eye(6)[5])
    assert_close(matrices[:, 2:], torch.full_like(matrices[:, 2:], 1 / 6))
    trace = trace_of(ahead, random_ids(1, 6)[0], all_heads(ahead, constant=True))
    assert all(numpy.isfinite(output.distribution).all() for output in trace.outputs)
    assert numpy.isfinite(trace.weights["self"]).all()


@pytest.mark.parametrize("name", [name for name in names() if name.startswith("masked")])
def test_shipped_masked_models_have_constant_heads_at_every_length(name: str):
    shipped = own(name)
    for layer in range(shipped.shape["self"][0]):
        for n in (1, 2, 3, 4, 5, 8, 64, 128):
            matrices = torch.from_numpy(shipped.constant_of("self", layer, n, n))
            assert matrices.isfinite().all()
            if shipped.attention.is_distribution:
                assert_close(matrices.sum(-1), torch.ones(matrices.shape[:-1]), rtol=1e-4, atol=1e-4)
