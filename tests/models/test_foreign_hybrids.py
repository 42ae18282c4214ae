"""Hybrid models, in which only some layers have attention maps: the checks of test_foreign.py on their softmax layers.
"""

import threading
from typing import Any

import numpy
import pytest
import torch
from foreign_tiny import TEXT, eager_of, lab_of
from torch import nn
from torch.testing import assert_close

import models
from models import HeadPlan
from tests.models.foreign_architectures import HYBRIDS

EXACT = {"rtol": 0.0, "atol": 0.0}


@pytest.fixture(params=HYBRIDS)
def name(request: pytest.FixtureRequest) -> str:
    """Returns the name of each hybrid in turn."""
    return request.param


def eagerly(name: str, gates: dict[int, float]) -> Any:
    """Returns the output of transformers' own eager model; a hook multiplies slices of the input of the first W_O."""
    model, lab = eager_of(name), lab_of(name)
    outputs = [next(child for part, child in module.named_children() if part in ("o_proj", "out_proj"))
               for module in model.modules()
               if hasattr(module, "q_proj") and "Delta" not in type(module).__name__]  # delta rule: no softmax
    assert len(outputs) == lab.shape["self"][0]

    def hook(_: nn.Module, arguments: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        read = arguments[0].clone()
        for head, gate in gates.items():
            read.unflatten(-1, (lab.shape["self"][1], -1))[..., head, :] *= gate
        return (read, *arguments[1:])

    handle = outputs[0].register_forward_pre_hook(hook)
    try:
        with torch.inference_mode():
            return model(input_ids=torch.tensor([lab.read(TEXT).ids]), use_cache=False, output_attentions=True)
    finally:
        handle.remove()


def test_maps_are_those_of_output_attentions(name: str):
    trace, result = models.run(lab_of(name), TEXT), eagerly(name, {})
    n = len(trace.tokens)  # MiniMax's linear attention returns its state in place of a map
    maps = [found for found in result.attentions if found is not None and found.shape[-2:] == (n, n)]
    assert_close(torch.tensor(trace.live["self"]), torch.cat(maps), **EXACT)
    assert_close(torch.tensor(trace.output.probabilities).sort().values, result.logits[0, -1].softmax(-1).sort().values)


@pytest.mark.parametrize("gate", [0.0, 0.4])
def test_a_gate_is_a_factor_on_the_slice(name: str, gate: float):
    plan = HeadPlan().gate("self", 0, 1, gate).gate("self", 0, 3, gate)
    trace, result = models.run(lab_of(name), TEXT, plan), eagerly(name, {1: gate, 3: gate})
    expected = result.logits[0, -1].softmax(-1)
    assert_close(torch.tensor(trace.output.distribution), expected, rtol=1e-3, atol=1e-5)
    untouched = models.run(lab_of(name), TEXT).output.distribution
    assert float((expected - torch.tensor(untouched)).abs().max()) > 1e-4


def test_a_gate_of_one_changes_no_bit_and_two_threads_do_not_disturb_each_other(name: str):
    lab = lab_of(name)
    plain = models.run(lab, TEXT)
    assert (models.run(lab, TEXT, HeadPlan().gate("self", 0, 1, 1.0)).output.distribution
            == plain.output.distribution).all()
    pruned, found = models.run(lab, TEXT, HeadPlan().gate("self", 0, 1, 0.0)).output.distribution, []

    def repeat(plan: HeadPlan, expected: numpy.ndarray) -> None:
        found.extend((models.run(lab, TEXT, plan).output.distribution == expected).all() for _ in range(5))

    threads = [threading.Thread(target=repeat, args=pair) for pair in (
        (HeadPlan(), plain.output.distribution), (HeadPlan().gate("self", 0, 1, 0.0), pruned))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 10 and all(found)


def test_a_long_text_leaves_nothing_for_a_short_one(name: str):
    lab = lab_of(name)
    short = models.run(lab, TEXT).output.distribution
    models.run(lab, TEXT * 4)
    assert (models.run(lab, TEXT).output.distribution == short).all()
