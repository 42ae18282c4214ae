"""Factors on the scores that depend on the text length, as trained types and as scale policies of a plan.

The factors are log n (Su Jianlin, kexue 8823), the control of log n with constant temperature, scalable softmax
(Nakanishi 2025) and relu² / n, whose row sums constant heads keep at every length and setting.
"""

import math
from dataclasses import replace

import pytest
import torch
from oracles import logits, source_scores
from tiny import HEADS, LAYERS, WIDTH, either_way, make_config, make_lab, make_model, random_ids, trace_of
from torch.testing import assert_close

from models.labs.stack import StackLab
from models.nets import mean_patterns
from models.nets.attention import TYPES
from models.nets.attention.base import Record, causal_mask
from models.nets.attention.dot_product import rotary_table
from models.plan import POLICIES, HeadPlan, Scale

N = 11
EXACTLY = {"rtol": 0, "atol": 0}
SOFTMAX_POLICIES, RELU2_POLICIES = ("trained", "sqrt", "logn"), ("trained", "fixed", "length")


def module_and_input(attention: str, causal: bool, n: int = N, length: int = 128):
    module = make_model(attention, causal=causal, length=length).blocks[1].attention
    return module, torch.randn(2, n, WIDTH, generator=torch.Generator().manual_seed(1))


def test_scalable_softmax_starts_as_softmax_on_average():
    """s ln n is 1 on average (s = 0.168 for 1,024, as in the source), and exactly 1 without a mask."""
    kind = TYPES["scalable-softmax"]
    for length in (64, 1024):
        module = kind(make_config("scalable-softmax", length=length))
        assert module.trained_factor(length).mean().item() == pytest.approx(1, rel=1e-5)
        module = kind(make_config("scalable-softmax", causal=False, length=length))
        assert_close(module.trained_factor(length), torch.ones(HEADS, 1, 1))
    assert kind(make_config("scalable-softmax", length=1024)).scalable[0].item() == pytest.approx(0.168, abs=5e-4)


def test_the_learned_divisor_starts_at_the_trained_length():
    module = TYPES["gau-relu2-learned"](make_config("gau-relu2-learned", length=64))
    assert module.trained_factor(7).item() ** -2 == pytest.approx(64, rel=1e-4)


# scale policies of a plan

def test_which_policies_a_type_has(attention: str):
    """Types with q·k scores offer scales, and Synthesizers offer none. Only relu² attention offers 1 / n."""
    expected = ("trained",)
    if attention in ("softmax", "log-n", "scalable-softmax", "temperature", "selective", "gated", "gau-softmax",
                     "gau-log-n"):
        expected = SOFTMAX_POLICIES
    elif "relu2" in attention:
        expected = RELU2_POLICIES
    assert TYPES[attention].policies == expected


def scales_of(attention: str) -> list[Scale]:
    return [Scale(policy, 9 if policy == "logn" else None) for policy in TYPES[attention].policies]


@either_way
def test_a_policy_replaces_the_trained_factor(attention: str, causal: bool):
    """Under every policy of a type, the scores of each query are q·k / sqrt d times the policy's factor."""
    module, x = module_and_input(attention, causal)
    raw = source_scores(module.source, x)
    future = causal_mask(N) if causal else torch.zeros(N, N, dtype=torch.bool)
    for scale in scales_of(attention):
        expected = raw.clone()
        for i in range(N):
            keys = i + 1 if causal else N
            expected[:, :, i] *= {"trained": 1, "sqrt": 1, "logn": math.log(keys) / math.log(9),
                                  "length": keys**-0.5, "fixed": 128**-0.5}[scale.policy]
        if scale.policy == "trained":
            expected = logits(module, x)
        found = module.scores(x, rotary_table(N, WIDTH // module.heads), module.factor(scale, N))
        expected = expected.masked_fill(future, -math.inf)
        assert_close(found.double().expand_as(expected), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("attention, policy", [("softmax", "sqrt"), ("selective", "sqrt"), ("gau-softmax", "sqrt"),
                                               ("gau-relu2", "fixed")])
def test_the_policy_that_a_type_was_trained_with_changes_nothing(attention: str, policy: str):
    lab, ids = make_lab(attention), random_ids(1, N)[0]
    before, after = trace_of(lab, ids), trace_of(lab, ids, HeadPlan().with_scale(policy))
    # rounding of the square root makes a small difference
    tolerance = EXACTLY if policy == "sqrt" else {"rtol": 1e-4, "atol": 1e-6}
    for name in ("scores", "live", "norms"):
        assert_close(torch.tensor(getattr(after, name)["self"]), torch.tensor(getattr(before, name)["self"]),
                     **tolerance)
    assert_close(torch.tensor(after.output.distribution), torch.tensor(before.output.distribution), **tolerance)


def test_a_policy_that_means_nothing_is_refused(attention: str):
    lab = make_lab(attention)
    for policy in set(POLICIES) - set(TYPES[attention].policies):
        with pytest.raises(ValueError, match=f"{policy} means nothing"):
            trace_of(lab, random_ids(1, N)[0], HeadPlan().with_scale(policy, 64 if policy == "logn" else None))


RELU2 = ("gau-relu2", "gau-relu2-mixed", "gau-relu2-learned")
TEXTS = random_ids(48, 128, seed=3)


def lab_of(attention: str) -> StackLab:
    lab = make_lab(attention, causal=False)
    return replace(lab, card={mean_patterns.ROW_SUMS: mean_patterns.measured_row_sums(lab.model, TEXTS)})


def computed_row_sums(lab: StackLab, ids: torch.Tensor, plan: HeadPlan) -> torch.Tensor:
    """Returns the mean row sum (L, H) of the computed attention weights."""
    records: list[Record] = []
    lab.model(ids, lab.interventions(plan, ids.shape[1]), records)
    return torch.stack([record.live.sum(-1).mean((0, 2)) for record in records])


@pytest.mark.parametrize("policy", ["trained", "fixed", "length"])
@pytest.mark.parametrize("attention", RELU2)
def test_constant_rows_have_the_row_sums_of_computed_rows(attention: str, policy: str):
    lab = lab_of(attention)
    plan = HeadPlan().with_scale(policy)
    for n in (8, 20, 64, 128):
        live = computed_row_sums(lab, TEXTS[:, :n], plan)
        for layer in range(LAYERS):
            rows = torch.from_numpy(lab.constant_of("self", layer, n, n, plan.scale)).sum(-1).mean(-1)
            assert_close(rows, live[layer], rtol=0.15 if n == 20 else 1e-3, atol=1e-5)
    untold = replace(lab, card={})  # older cards have no row sums; then the matrix is not scaled
    live = computed_row_sums(lab, TEXTS[:, :20], plan)
    rows = torch.stack([torch.from_numpy(untold.constant_of("self", layer, 20, 20)).sum(-1).mean(-1)
                        for layer in range(LAYERS)])
    assert not torch.allclose(rows, live, rtol=0.15)


def test_a_constant_head_has_the_row_sums_of_the_policy():
    """Apart from the row sums, its pattern is that of the matrix."""
    lab = lab_of("gau-relu2")
    ids = TEXTS[:1, :20]
    for policy in ("fixed", "length"):
        plan = HeadPlan().with_scale(policy).constant("self", 1, 0)
        records: list[Record] = []
        lab.model(ids, lab.interventions(plan, 20), records)
        used = records[1].weights[0, 0]
        assert float(used.sum(-1).mean()) == pytest.approx(
            float(mean_patterns.row_sum_at(lab.card[mean_patterns.ROW_SUMS], policy, 1, 20)), rel=1e-4)
        form = lab.constant["self"][1, 0, :20, :20]
        assert_close(used / used.sum(), form / form.sum())


def test_between_two_lengths_masses_are_interpolated_and_no_weight_stays_none():
    masses = {"lengths": [8, 32], "policies": {"trained": [[[1.0, 3.0]]]}}
    found = [float(mean_patterns.row_sum_at(masses, "trained", 0, n)) for n in (2, 8, 16, 32, 128)]
    assert found == pytest.approx([1.0, 1.0, 2.0, 3.0, 3.0])
    assert not mean_patterns.with_row_sum(torch.zeros(1, 4, 4), torch.ones(1, 1, 1)).any()


@pytest.mark.parametrize("attention", ["softmax", "selective", "gau-softmax"])
def test_rows_that_sum_to_1_have_no_masses(attention: str):
    from models.training.cards import masses_of

    lab = make_lab(attention)
    assert masses_of(lab.model, lab.task) == {}
