"""The memory need of selective attention (Leviathan et al. 2024, arXiv 2410.02703, section 5), by loops over F."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import selective
from tiny import make_model, random_ids
from torch import Tensor

from models.nets.attention.base import Record
from models.nets.attention.selective import memory_in_use

masks = st.integers(1, 8).flatmap(lambda n: st.lists(  # layers of texts of n rows
    st.lists(st.lists(st.floats(0, 3, width=32), min_size=n * n, max_size=n * n), min_size=2, max_size=2),
    min_size=1, max_size=3).map(lambda layers: [torch.tensor(layer).view(2, n, n) for layer in layers]))


def by_loops(layers: list[Tensor], tau: float) -> float:
    """Returns the mean over texts of the fraction of memory that is needed. For each layer it is the largest need of
    any query; the sum over layers is divided by the number of layers and tokens. Query i = 1, 2, ... has i keys. A key
    with F >= tau needs no memory; a key with smaller F needs 1 - F / tau."""
    count, n = len(layers[0]), layers[0].shape[-1]
    total = 0.0
    for text in range(count):
        for layer in layers:
            needs = []
            for i in range(1, n + 1):
                freed = sum(min(float(layer[text, i - 1, k - 1]), tau) / tau for k in range(1, i + 1))
                needs.append(i - freed)
            total += max(needs)
    return total / count / (len(layers) * n)


@given(masks, st.sampled_from([0.5, 1.0, 2.0]))
def test_memory_in_use_by_loops(layers: list[Tensor], tau: float):
    assert memory_in_use(layers, tau).item() == pytest.approx(by_loops(layers, tau), rel=1e-4, abs=1e-6)


def test_memory_of_a_model():
    """The memory computed from a model's F equals loops over F. A gradient step that reduces the memory increases F."""
    model = make_model("selective").requires_grad_(True)
    records: list[Record] = []
    model(random_ids(3, 12), records=records)
    memory = memory_in_use([record.mask for record in records])
    expected = [torch.stack([selective(scores)[1] for scores in record.scores.detach()]) for record in records]
    assert memory.item() == pytest.approx(by_loops(expected, 1.0), rel=1e-4)
    assert 0.2 < memory.item() < 0.9
    leaves = [record.mask.detach().requires_grad_() for record in records]
    grads = torch.stack(torch.autograd.grad(memory_in_use(leaves), leaves))
    assert (grads <= 0).all() and (grads < 0).any()
    memory.backward()  # the gradient also reaches the weights from which F is computed
    assert (model.blocks[0].attention.source.query.weight.grad != 0).any()
