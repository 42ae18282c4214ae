"""Selective attention (arXiv 2410.02703, section 3) equals x-transformers, and gradients flow through its mask F."""

import pytest
import torch
from tiny import HEADS, make_config
from torch.testing import assert_close
from x_transformers.attend import selective_attn

from models.nets.attention.base import causal_mask
from models.nets.attention.selective import Selective

N = 11  # number of tokens: odd, and larger than the width of a head


def random_scores(n: int = N, seed: int = 0) -> torch.Tensor:
    """Returns causal logits (2, HEADS, n, n) of standard deviation 3, large enough that F changes every weight."""
    scores = 3 * torch.randn(2, HEADS, n, n, generator=torch.Generator().manual_seed(seed))
    return scores.masked_fill(causal_mask(n), float("-inf"))


def normalise(scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return Selective(make_config("selective")).normalise(scores)


@pytest.mark.parametrize("n", [1, 2, 3, N, 40])
def test_selective_is_x_transformers(n: int):
    scores = random_scores(n)
    # the masked value that x-transformers uses
    finite = scores.masked_fill(causal_mask(n), -torch.finfo(torch.float32).max)
    theirs = selective_attn(finite)
    weights, mask = normalise(scores)
    assert_close(scores - mask.unsqueeze(1), theirs.masked_fill(causal_mask(n), float("-inf")))
    assert_close(weights, theirs.softmax(-1))


def test_gradient_flows_through_the_mask():
    """Head 1 depends on head 0 only through F. Therefore the gradient from head 1 to the logits of head 0 flows through
    F."""
    scores = random_scores().requires_grad_()
    weights, _ = normalise(scores)
    weights[:, 1, -1].square().sum().backward()
    assert (scores.grad[:, 0].abs() > 0).any()
    assert scores.grad.isfinite().all()
