"""What holds for every attention type: no query sees the future, rows sum to 1, log n is what it says, query by query,
and gradients arrive. Softmax is torch's own attention; RoPE is multiplication by complex numbers."""

from __future__ import annotations

import math

import pytest
import torch
from oracles import attention_output, logits, turn
from tiny import HEADS, WIDTH, make_model, random_ids
from torch.testing import assert_close

from models.attention import TYPES
from models.attention.base import UNTOUCHED, Record, causal_mask, rotary_table, rotate, scale_factor
from models.heads import Scale

N = 11  # tokens: odd, and more than a head is wide
LAYER = 1  # not the first: its input is not one vector per token any more


def module_and_input(attention: str, causal: bool = True) -> tuple[torch.nn.Module, torch.Tensor]:
    module = make_model(attention, causal=causal).blocks[LAYER].attention
    return module, torch.randn(3, N, WIDTH, generator=torch.Generator().manual_seed(1))


def record_of(module: torch.nn.Module, x: torch.Tensor) -> tuple[torch.Tensor, Record]:
    records: list[Record] = []
    return module(x, rotary_table(x.shape[1], WIDTH // HEADS), UNTOUCHED, records), records[0]


@pytest.mark.parametrize("causal", [True, False])
def test_softmax_is_torchs_attention(causal: bool):
    module, x = module_and_input("softmax", causal)
    output, record = record_of(module, x)
    assert_close(output.double(), attention_output(module, x), rtol=1e-4, atol=1e-5)
    assert record.mask is None


@pytest.mark.parametrize("width", [2, 8, 64])
def test_rope_is_complex_multiplication(width: int):
    x = torch.randn(2, 3, 130, width)  # 130 positions: beyond what a text may have
    assert_close(rotate(x, rotary_table(130, width)).double(), turn(x), rtol=1e-4, atol=1e-4)


def test_rope_knows_distances_only():
    """The same query and key at every position: scores depend on i - j alone."""
    query, key = torch.randn(2, 1, 8).double().unsqueeze(1).expand(2, 1, N, 8)
    table = tuple(t.double() for t in rotary_table(N, 8))
    scores = rotate(query[None], table)[0] @ rotate(key[None], table)[0].transpose(-1, -2)
    for distance in range(1 - N, N):
        diagonal = scores[0].diagonal(distance)
        assert_close(diagonal, diagonal[:1].expand_as(diagonal), rtol=1e-5, atol=1e-5)


def test_scores_are_what_is_normalised(attention: str):
    """q·k / sqrt d with RoPE, -inf above the diagonal; weights are the softmax of scores - F, rows sum to 1."""
    module, x = module_and_input(attention)
    _, record = record_of(module, x)
    assert_close(record.scores.double(), logits(module, x).masked_fill(causal_mask(N), float("-inf")),
                 rtol=1e-4, atol=1e-4)
    mask = 0.0 if record.mask is None else record.mask.unsqueeze(1)
    assert_close(record.live, (record.scores - mask).softmax(-1))
    assert_close(record.live.sum(-1), torch.ones(3, HEADS, N))
    assert_close(record.live.triu(1), torch.zeros_like(record.live), rtol=0, atol=0)


@pytest.mark.parametrize("first", [1, 2, 7, N - 1])
def test_nothing_sees_the_future(attention: str, first: int):
    """Tokens from `first` on are exchanged: nothing before them changes, in any layer; after them, something does."""
    model = make_model(attention)
    ids, other = random_ids(2, N)
    other = torch.cat((ids[:first], (ids[first:] + 7) % model.config.vocabulary))
    runs = []
    for tokens in (ids, other):
        records: list[Record] = []
        runs.append((model(tokens[None], records=records)[0], torch.stack([r.live[0] for r in records])))
    (hidden, live), (hidden_other, live_other) = runs
    assert_close(hidden[:first], hidden_other[:first], rtol=0, atol=0)
    assert_close(live[:, :, :first], live_other[:, :, :first], rtol=0, atol=0)
    assert (hidden[first:] - hidden_other[first:]).abs().amax(-1).min() > 1e-3


def test_texts_of_a_batch_do_not_mix(attention: str):
    model, ids = make_model(attention), random_ids(4, N)
    assert_close(model(ids)[2], model(ids[2:3])[0])


@pytest.mark.parametrize("base", [2, N, 64])
def test_log_n(attention: str, base: int):
    """Query i sees i + 1 keys, so its scores are q·k ln(i + 1) / (ln(base) sqrt d)."""
    module, x = module_and_input(attention)
    rotary = rotary_table(N, WIDTH // HEADS)
    scores = module.scores(x, rotary, Scale("logn", base))
    expected = logits(module, x)
    for i in range(N):
        expected[:, :, i] *= math.log(i + 1) / math.log(base)
    assert_close(scores.double(), expected.masked_fill(causal_mask(N), float("-inf")), rtol=1e-4, atol=1e-4)
    trained = module.scores(x, rotary, Scale())
    assert_close(module.scores(x, rotary, Scale("sqrt")), trained, rtol=0, atol=0)
    if base <= N:  # the query that sees `base` keys has 1 / sqrt d
        assert_close(scores[:, :, base - 1], trained[:, :, base - 1])


def test_log_n_without_a_causal_mask():
    """Every query sees all keys, so all have the same factor."""
    assert_close(scale_factor(Scale("logn", 64), 5, 8, causal=False), torch.full((5, 1), math.log(8) / math.log(64)))
    assert_close(scale_factor(Scale("logn", 64), 5, 8, causal=True).flatten(), torch.arange(4, 9).log() / math.log(64))


def test_gradients_are_finite_and_reach_every_weight(attention: str):
    model = make_model(attention).requires_grad_(True)
    model.logits(model(random_ids(2, N))).square().mean().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.isfinite().all(), name
        assert (parameter.grad != 0).any(), name


def test_the_list_of_types():
    """Each names itself, its formula and its source, which the page and the cards print."""
    assert {"softmax", "selective"} <= set(TYPES)
    for name, kind in TYPES.items():
        assert name in kind.title.lower() and kind.formula and "arXiv" in kind.source
