"""Selective attention follows its paper (arXiv 2410.02703, section 3): it equals x-transformers and plain loops.

The selective mask F (accumulated votes) has its defining properties for any scores.
"""

import pytest
import torch
from oracles import logits, selective, torchs_attention
from tiny import HEADS, WIDTH, make_config, make_model
from torch.testing import assert_close
from x_transformers.attend import selective_attn

from models.nets.attention.base import causal_mask
from models.nets.attention.rotary import rotary_table
from models.nets.attention.selective import Selective, accumulate, selection

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


def test_selective_is_the_paper_in_loops():
    scores = random_scores()
    weights, mask = normalise(scores)
    for text in range(len(scores)):
        expected_weights, expected_mask = selective(scores[text])
        assert_close(mask[text].double(), expected_mask, rtol=1e-5, atol=1e-5)
        assert_close(weights[text].double(), expected_weights, rtol=1e-5, atol=1e-6)


def test_mask_invariants():
    """F has the properties that follow from its definition."""
    scores = random_scores(40)
    weights, mask = normalise(scores)
    assert (mask >= 0).all()
    assert mask.max() > 1  # F is not small, so the properties are not trivial
    assert (mask.diagonal(0, 1, 2) == 0).all() and (mask.diagonal(-1, 1, 2) == 0).all()
    assert (mask[:, :, 0] == 0).all()
    assert (mask.diff(dim=1) >= 0).all()
    assert_close(weights[:, :, :2], scores.softmax(-1)[:, :, :2], rtol=0, atol=0)
    # F is zero on and above the first subdiagonal; the causal mask is separate from F
    assert_close(mask, mask.tril(-2), rtol=0, atol=0)


def test_only_head_0_selects():
    scores = random_scores()
    mask = normalise(scores)[1]
    assert_close(normalise(scores[:, [0, 3, 1, 2]])[1], mask, rtol=0, atol=0)
    assert not torch.equal(normalise(scores[:, [1, 0, 2, 3]])[1], mask)


def test_mask_is_the_same_for_all_heads():
    scores = random_scores()
    scores[:, 1:] = scores[:, :1]
    weights, _ = normalise(scores)
    assert_close(weights, weights[:, :1].expand_as(weights), rtol=0, atol=0)


def test_gradient_flows_through_the_mask():
    """Head 1 depends on head 0 only through F. Therefore the gradient from head 1 to the logits of head 0 flows through
    F."""
    scores = random_scores().requires_grad_()
    weights, _ = normalise(scores)
    weights[:, 1, -1].square().sum().backward()
    assert (scores.grad[:, 0].abs() > 0).any()
    assert scores.grad.isfinite().all()


def test_selection_protects_bos_and_the_token_itself():
    selected = selection(torch.full((1, HEADS, N, N), 5.0).masked_fill(causal_mask(N), float("-inf")))
    assert (selected[0, :, 0] == 0).all() and (selected[0].diagonal() == 0).all()
    assert (selected[0, 2:, 1] == 5).all()
    # F[i, j] counts the queries strictly between i and j; for key 1 these are 2, 3, ..., i - 1
    assert_close(accumulate(selected)[0, :, 1], 5.0 * (torch.arange(N) - 2).clamp(min=0))


def test_the_whole_layer_is_torchs_attention_with_x_transformers_mask():
    """The layer equals torch's attention with the -F of x-transformers added to the logits."""
    module = make_model("selective").blocks[1].attention
    x = torch.randn(3, N, WIDTH, generator=torch.Generator().manual_seed(1))
    scores = logits(module, x)
    finite = scores.masked_fill(causal_mask(N), -torch.finfo(torch.float64).max)
    bias = (selective_attn(finite) - finite).masked_fill(causal_mask(N), float("-inf"))
    output = module(x, rotary_table(N, WIDTH // HEADS))
    assert_close(output.double(), torchs_attention(module, x, bias), rtol=1e-4, atol=1e-5)
