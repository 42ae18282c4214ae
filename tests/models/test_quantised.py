"""Tests of 8-bit weights: the size of the rounding error, and values that must be stored exactly."""

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from tiny import either_way, make_lab, random_ids
from torch import Tensor
from torch.testing import assert_close

from models.storage.checkpoint import dequantise, pack, quantise, read_constant, read_model, unpack, write

EXACTLY = {"rtol": 0, "atol": 0}
numbers = st.floats(-1e6, 1e6, width=32, allow_subnormal=False)
shapes = st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple)


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    """Generates tensors with rows of very different magnitude, and with zeros."""
    shape = draw(shapes)
    count = torch.Size(shape).numel()
    values = torch.tensor(draw(st.lists(numbers, min_size=count, max_size=count))).view(shape)
    return values * 10.0 ** torch.tensor(draw(st.integers(-6, 2)))


@given(tensors())
def test_a_round_trip_is_off_by_half_a_step_at_most(tensor: Tensor):
    """The error is at most half a step; the step of a row is its largest absolute value / 127. Vectors are exact."""
    packed = quantise({"w": tensor})
    read = dequantise(packed)["w"]
    assert read.shape == tensor.shape and read.dtype == torch.float32
    if tensor.ndim == 1:
        assert_close(read, tensor, **EXACTLY)
        return
    assert packed["w"].dtype == torch.int8 and packed["w.scale"].shape == (*tensor.shape[:-1], 1)
    for row, found in zip(tensor.flatten(0, -2).tolist(), read.flatten(0, -2).tolist(), strict=True):
        step = max(map(abs, row)) / 127
        for value, near in zip(row, found, strict=True):
            # the step is at least 1e-12 / 127, also for a row that is almost zero
            assert abs(near - value) <= 0.5001 * max(step, 1e-12 / 127)
            if abs(value) == max(map(abs, row)) > 1e-12:
                assert near == pytest.approx(value, rel=1e-5)  # the largest absolute value is exact, with its sign


@given(tensors())
def test_what_was_rounded_once_is_not_rounded_again(tensor: Tensor):
    once = quantise({"w": tensor})
    twice = quantise(dequantise(once))
    assert once.keys() == twice.keys() and once["w"].dtype == twice["w"].dtype
    assert_close(twice["w"], once["w"], **EXACTLY)
    assert_close(twice, once, rtol=1e-6, atol=0)


def test_a_weight_may_be_called_scale():
    """The parameter `source.scale` of a gated attention unit gets the scale `source.scale.scale`."""
    weights = {"source.scale": torch.randn(2, 8), "shared.weight": torch.randn(8, 4), "norm.weight": torch.ones(5)}
    packed = quantise(weights)
    assert packed["source.scale"].dtype == torch.int8 and packed["source.scale.scale"].shape == (2, 1)
    read = dequantise(packed)
    assert read.keys() == weights.keys()
    for name, tensor in weights.items():
        assert_close(read[name], tensor, rtol=0, atol=float(tensor.abs().max()) / 250)


@either_way
def test_a_model_is_written_and_read(attention: str, causal: bool, tmp_path: Path):
    """Config, rounded weights, buffers and constant matrices; predictions after loading are the same."""
    lab = make_lab(attention, causal)
    write(tmp_path, lab.model, lab.constant)
    model = read_model(tmp_path)
    constant = read_constant(tmp_path, model.config, lab.limit)["self"]
    assert model.config == lab.model.config and not model.training
    assert not any(parameter.requires_grad for parameter in model.parameters())
    assert_close(model.state_dict(), dequantise(quantise(lab.model.state_dict())), **EXACTLY)
    assert_close(constant, lab.constant["self"], rtol=2**-10, atol=2**-24)
    ids = random_ids(4, 12)
    before, after = (which.logits(which(ids)).softmax(-1) for which in (lab.model, model))
    assert (before - after).abs().mean() < 0.1 * (before - before.mean(0)).abs().mean()


def test_no_file_holds_more_than_numbers(attention: str, tmp_path: Path):
    lab = make_lab(attention)
    write(tmp_path, lab.model, lab.constant)
    types = {file: {tensor.dtype for tensor in load_file(tmp_path / f"{file}.safetensors").values()}
             for file in ("model", "constant")}
    assert types == {"model": {torch.int8, torch.float32}, "constant": {torch.float16}}


@given(st.integers(1, 6), st.booleans(), st.booleans())
def test_packing_loses_nothing(n: int, causal: bool, is_distribution: bool):
    """Causal constant matrices are stored without the part above the diagonal, other matrices completely."""
    matrices = torch.rand(2, 3, n, n, generator=torch.Generator().manual_seed(n)) + 0.01
    matrices = matrices.tril() if causal else matrices
    if is_distribution:
        matrices /= matrices.sum(-1, keepdim=True)
    packed = pack(matrices, causal)
    assert packed.numel() == 6 * (n * (n + 1) // 2 if causal else n * n)
    assert_close(unpack(packed, n, causal, is_distribution), matrices)
