"""The model around the attention: logits by plain formulas in float64, and the documented initial weights."""

from dataclasses import replace

import pytest
import torch
from oracles import transformer
from tiny import WIDTH, heads_of, make_model, random_ids
from torch.testing import assert_close

from models.nets.config import Config
from models.nets.transformer import Transformer

CONFIG = Config("softmax", vocabulary=512, width=256, layers=2, heads=4, trained_length=96)
C, D, H, N = 256, 64, 4, 96
SCORES = {  # number of parameters for the scores of one layer, as the papers count them
    **dict.fromkeys(("softmax", "log-n", "temperature", "selective"), 2 * C**2), "scalable-softmax": 2 * C**2 + H,
    "gated": 2 * C**2 + C * H,  # C * H parameters belong to the gate after the scores
    # Tay et al. 2020, table 1, with a W2 for each head and biases b1 and b2; a and b are 8 and 12
    "dense": C**2 + C + H * (D * N + N), "random": H * N**2, "fixed-random": 0,
    "factorized-dense": C**2 + C + H * (D + 1) * (8 + 12), "factorized-random": H * 2 * N * 8,
    # one projection to 128, then a factor and a shift for q and for k
    **dict.fromkeys(("gau-relu2", "gau-relu2-mixed", "gau-softmax", "gau-log-n"), C * 128 + 4 * 128),
    "gau-relu2-learned": C * 128 + 4 * 128 + 1,
}
for one, other in (("random", "dense"), ("dense", "softmax"), ("random", "softmax")):
    SCORES[f"{one}-{other}"] = SCORES[one] + SCORES[other] + 2  # a mixture also has the two weights alpha


def test_logits_are_those_of_the_formulas(attention: str):
    """Every norm gets random weights, because initial weights of 1 could hide a mistake."""
    model, ids = make_model(attention), random_ids(3, 11)
    torch.manual_seed(2)
    for module in model.modules():
        if isinstance(module, torch.nn.RMSNorm):
            module.weight.copy_(1 + 0.3 * torch.randn(WIDTH))
    expected = transformer(model, ids)
    assert_close(model.logits(model(ids)).double(), expected, rtol=1e-4, atol=1e-3)
    assert expected.std() > 1  # the logits are large compared with the tolerance


def test_output_scale_is_a_factor_on_the_logits():
    torch.manual_seed(0)
    model, hidden = Transformer(CONFIG), torch.randn(3, CONFIG.width)
    scaled = Transformer(replace(CONFIG, output_scale=0.1))
    scaled.load_state_dict(model.state_dict())
    assert_close(scaled.logits(hidden), model.logits(hidden) / 10)


@pytest.mark.parametrize("initial_std, embedding_std", [(None, 0.02), (0.02, 1.0)])
def test_fresh_weights(initial_std: float | None, embedding_std: float):
    """Initial weights have LeCun's standard deviation or the given one. It is divided by sqrt(2 layers) in matrices
    that write to the residual stream. The deviation is estimated from at least 65,536 numbers, so it is within 1.5%
    (five standard errors)."""
    torch.manual_seed(0)
    model = Transformer(CONFIG, initial_std, embedding_std).requires_grad_(False)
    writes = (2 * CONFIG.layers) ** -0.5
    assert float(model.embedding.weight.std()) == pytest.approx(embedding_std, rel=0.015)
    for block in model.blocks:
        attention = block.attention
        for linear in (attention.source.query, attention.source.key, attention.value, block.up):
            assert float(linear.weight.std()) == pytest.approx(initial_std or 256**-0.5, rel=0.015)
        assert float(attention.output.weight.std()) == pytest.approx((initial_std or 256**-0.5) * writes, rel=0.015)
        assert float(block.down.weight.std()) == pytest.approx((initial_std or 1024**-0.5) * writes, rel=0.015)


def test_parameter_count(attention: str):
    """The number of parameters follows from the config. Tied embeddings count once. Per layer, values and outputs are
    two matrices, an MLP has the size of eight matrices, and there are two norms. A gated attention unit has three
    matrices of twice the width, one norm and no MLP."""
    model = Transformer(replace(CONFIG, attention=attention, heads=heads_of(attention)))
    block = 6 * C**2 + C if attention.startswith("gau-") else 10 * C**2 + 2 * C
    assert model.parameter_count() == 512 * C + 2 * (SCORES[attention] + block) + C
