"""A gate is a factor on a head's slice of the input of W_O (Voita et al. 2019, arXiv 1905.09418)."""

import copy
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from tiny import HEADS, LAYERS, address, all_heads, another_scale, random_ids, trace_of
from torch.testing import assert_close

from models.labs.stack import StackLab
from models.nets.attention import TYPES
from models.nets.attention.base import Intervention
from models.plan import HeadPlan

N = 11
EXACTLY = {"rtol": 0, "atol": 0}


def logits(lab: StackLab, ids: torch.Tensor, plan: HeadPlan) -> torch.Tensor:
    return lab.model.logits(lab.model(ids[None], lab.interventions(plan, len(ids)))[0])


def with_scaled_slices(lab: StackLab, factors: dict[tuple[int, int], float], ids: torch.Tensor,
                       plan: HeadPlan) -> torch.Tensor:
    """Returns the logits of a copy of the model whose hooks multiply head h of layer l by factors[l, h] before W_O."""
    model = copy.deepcopy(lab.model)
    heads = lab.shape["self"][1]

    def hook(layer: int):
        def scale(module, inputs):
            (x,) = inputs
            x = x.clone().unflatten(-1, (heads, -1))
            for head in range(heads):
                x[..., head, :] *= factors.get((layer, head), 1.0)
            return (x.flatten(-2),)
        return scale

    for layer, block in enumerate(model.blocks):
        block.attention.output.register_forward_pre_hook(hook(layer))
    return model.logits(model(ids[None], lab.interventions(plan, len(ids)))[0])


def test_gate_1_changes_nothing(lab: StackLab):
    """A gate of 1 changes nothing, as a plan or as a tensor of ones."""
    ids = random_ids(1, N)[0]
    untouched = logits(lab, ids, HeadPlan())
    assert_close(logits(lab, ids, all_heads(lab, gate=1.0)), untouched, **EXACTLY)
    ones = [Intervention(gate=torch.ones(lab.shape["self"][1], 1, 1))] * LAYERS
    assert_close(lab.model.logits(lab.model(ids[None], ones)[0]), untouched, **EXACTLY)


@pytest.mark.parametrize("gate", [0.0, 0.3])
@pytest.mark.parametrize("layer, head", [(0, 0), (0, 3), (1, 2)])
@pytest.mark.parametrize("is_constant", [False, True])
def test_a_gate_is_a_factor_on_a_slice_of_w_o(lab: StackLab, is_constant: bool, layer: int, head: int, gate: float):
    """Constant weights of the same head or of another head apply before the gate."""
    ids, (_, layer, head) = random_ids(1, N)[0], address(lab, layer, head)
    plan = HeadPlan().constant(*address(lab, 0, 0)) if is_constant else HeadPlan()
    gated = logits(lab, ids, plan.gate("self", layer, head, gate))
    assert_close(gated, with_scaled_slices(lab, {(layer, head): gate}, ids, plan), rtol=1e-4, atol=1e-4)
    assert (gated - logits(lab, ids, plan)).abs().max() > 0.01


def test_norms_are_those_of_gated_outputs(lab: StackLab):
    ids = random_ids(1, N)[0]
    gated = address(lab, 0, 2)
    before, after = (trace_of(lab, ids, HeadPlan().gate(*gated, gate)).norms["self"] for gate in (1.0, 0.25))
    assert_close(torch.tensor(after[0, gated[2]]), torch.tensor(before[0, gated[2]] / 4))
    others = [head for head in range(lab.shape["self"][1]) if head != gated[2]]
    assert_close(torch.tensor(after[0, others]), torch.tensor(before[0, others]), **EXACTLY)


@pytest.mark.parametrize("attention", sorted(name for name, kind in TYPES.items() if len(kind.policies) > 1))
def test_the_scale_does_not_reach_constant_heads(lab: StackLab):
    ids = random_ids(1, N)[0]
    every, (_, layer, head) = all_heads(lab, constant=True), address(lab, 0, 1)
    assert_close(logits(lab, ids, another_scale(lab, every)), logits(lab, ids, every), **EXACTLY)
    scaled = another_scale(lab, HeadPlan().constant("self", layer, head))
    trace, plain = trace_of(lab, ids, scaled), trace_of(lab, ids)
    assert_close(torch.tensor(trace.weights["self"][layer, head]), lab.constant["self"][layer, head, :N, :N], **EXACTLY)
    assert abs(trace.weights["self"][1] - plain.weights["self"][1]).max() > 0.01


@pytest.mark.parametrize("absent", [("self", LAYERS, 0), ("self", 0, HEADS), ("cross", 0, 0), ("encoder", 1, 1)])
def test_a_head_that_is_not_there(lab: StackLab, absent: tuple):
    for plan in (HeadPlan().constant(*absent), HeadPlan().gate(*absent, 0.5)):
        with pytest.raises(ValueError, match=lab.name):
            trace_of(lab, random_ids(1, N)[0], plan)


def test_a_plan_leaves_no_trace_on_the_model(lab: StackLab):
    """After runs with plans the weights are unchanged. Concurrent threads with different plans get the same results as
    separate runs."""
    before = copy.deepcopy(lab.model.state_dict())
    attributes = [dict(vars(block.attention)) for block in lab.model.blocks]
    ids = random_ids(1, N)[0]
    plans = [HeadPlan(), HeadPlan().gate(*address(lab, 0, 1), 0), all_heads(lab, constant=True), another_scale(lab)]
    alone = [logits(lab, ids, plan) for plan in plans]
    with ThreadPoolExecutor(len(plans)) as pool:
        together = list(pool.map(lambda plan: logits(lab, ids, plan), plans * 25))
    for index, result in enumerate(together):
        assert_close(result, alone[index % len(plans)], **EXACTLY)
    for name, tensor in lab.model.state_dict().items():
        assert_close(tensor, before[name], **EXACTLY)
    assert [dict(vars(block.attention)) for block in lab.model.blocks] == attributes
