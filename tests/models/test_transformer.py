"""The model around the attention: the same logits as plain formulas in float64, and fresh weights as documented."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from oracles import transformer
from tiny import WIDTH, make_model, random_ids
from torch.testing import assert_close

from models.config import Config
from models.transformer import Transformer

CONFIG = Config("softmax", vocabulary=512, width=256, layers=2, heads=4)


def test_logits_are_those_of_the_formulas(attention: str):
    """Every norm has weights of its own here: fresh ones are 1 and would hide a mistake."""
    model, ids = make_model(attention), random_ids(3, 11)
    torch.manual_seed(2)
    for module in model.modules():
        if isinstance(module, torch.nn.RMSNorm):
            module.weight.copy_(1 + 0.3 * torch.randn(WIDTH))
    expected = transformer(model, ids)
    assert_close(model.logits(model(ids)).double(), expected, rtol=1e-4, atol=1e-3)
    assert expected.std() > 1  # so that the tolerance is small


def test_output_scale_is_a_factor_on_the_logits():
    torch.manual_seed(0)
    model, hidden = Transformer(CONFIG), torch.randn(3, CONFIG.width)
    scaled = Transformer(replace(CONFIG, output_scale=0.1))
    scaled.load_state_dict(model.state_dict())
    assert_close(scaled.logits(hidden), model.logits(hidden) / 10)


@pytest.mark.parametrize("initial_std, embedding_std", [(None, 0.02), (0.02, 1.0)])
def test_fresh_weights(initial_std: float | None, embedding_std: float):
    """LeCun's or the given deviation; smaller by sqrt(2 layers) where a block writes. Estimated from 65,536 and more
    numbers each, so to within 1.5 % (five standard errors)."""
    torch.manual_seed(0)
    model = Transformer(CONFIG, initial_std, embedding_std).requires_grad_(False)
    writes = (2 * CONFIG.layers) ** -0.5
    assert float(model.embedding.weight.std()) == pytest.approx(embedding_std, rel=0.015)
    for block in model.blocks:
        attention = block.attention
        for linear in (attention.query, attention.key, attention.value, block.up):
            assert float(linear.weight.std()) == pytest.approx(initial_std or 256**-0.5, rel=0.015)
        assert float(attention.output.weight.std()) == pytest.approx((initial_std or 256**-0.5) * writes, rel=0.015)
        assert float(block.down.weight.std()) == pytest.approx((initial_std or 1024**-0.5) * writes, rel=0.015)


def test_parameter_count(attention: str):
    """Tied embeddings count once, an attention layer is four matrices of any type, and nothing has a bias."""
    model = Transformer(replace(CONFIG, attention=attention))
    assert model.parameter_count() == 512 * 256 + 2 * (4 * 256**2 + 8 * 256**2 + 2 * 256) + 256
