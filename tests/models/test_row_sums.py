"""Row sums of relu² attention: at every length and setting, constant heads have the row sums of computed heads."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from models.labs.stack import StackLab
from models.nets import row_sums
from models.nets.attention.base import Record
from models.plan import HeadPlan
from tests.models.tiny import LAYERS, make_lab, random_ids

RELU2 = ("gau-relu2", "gau-relu2-mixed", "gau-relu2-learned")
TEXTS = random_ids(48, 128, seed=3)


def lab_of(attention: str) -> StackLab:
    lab = make_lab(attention, causal=False)
    return replace(lab, card={row_sums.KEY: row_sums.measured(lab.model, TEXTS)})


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
            float(row_sums.at(lab.card[row_sums.KEY], policy, 1, 20)), rel=1e-4)
        form = lab.constant["self"][1, 0, :20, :20]
        assert_close(used / used.sum(), form / form.sum())


def test_between_two_lengths_masses_are_interpolated():
    masses = {"lengths": [8, 32], "policies": {"trained": [[[1.0, 3.0]]]}}
    found = [float(row_sums.at(masses, "trained", 0, n)) for n in (2, 8, 16, 32, 128)]
    assert found == pytest.approx([1.0, 1.0, 2.0, 3.0, 3.0])


def test_a_head_without_any_weight_stays_so():
    assert not row_sums.with_row_sum(torch.zeros(1, 4, 4), torch.ones(1, 1, 1)).any()


@pytest.mark.parametrize("attention", ["softmax", "selective", "gau-softmax"])
def test_rows_that_sum_to_1_have_no_masses(attention: str):
    from models.training.cards import masses_of

    lab = make_lab(attention)
    assert masses_of(lab.model, lab.task) == {}
