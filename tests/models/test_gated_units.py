"""Gated attention units follow their paper (Hua et al. 2022, arXiv 2202.10447).

With the paper's weights relu(q·k / n)² the units equal FLASH-pytorch. The weights of this project, relu(q·k / sqrt s)²
/ n (Su Jianlin, kexue 9019), are compared with loops in test_attention.py.
"""

import pytest
import torch
from flash_pytorch import GAU
from tiny import WIDTH, make_config, make_model
from torch.testing import assert_close

from models.nets.attention import TYPES, gated_unit
from models.nets.attention.base import Intervention, Record
from models.nets.attention.gated_unit import SHARED

UNITS = [name for name in TYPES if name.startswith("gau-")]
N = 9


def inputs(n: int = N, count: int = 2) -> torch.Tensor:
    return torch.randn(count, n, WIDTH, generator=torch.Generator().manual_seed(1))


def module_of(attention: str, causal: bool, length: int = 64):
    return make_model(attention, causal=causal, length=length).blocks[1].attention


@pytest.fixture
def without_rope(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets every angle of RoPE to 0, because FLASH-pytorch's unit has no RoPE."""
    monkeypatch.setattr(gated_unit, "rotary_table",
                        lambda n, width: (torch.ones(n, width // 2), torch.zeros(n, width // 2)))


def theirs(module, causal: bool) -> GAU:
    """Returns FLASH-pytorch's unit with the weights of our unit; its norm, biases and position bias have no effect."""
    unit = GAU(dim=WIDTH, query_key_dim=SHARED, causal=causal, add_residual=False,
               norm_klass=torch.nn.Identity).requires_grad_(False).eval()
    unit.rel_pos_bias.relative_attention_bias.weight.zero_()
    for linear, weight in ((unit.to_hidden[0], torch.cat((module.value.weight, module.gate.weight))),
                           (unit.to_qk[0], module.source.shared.weight), (unit.to_out[0], module.output.weight)):
        linear.weight.copy_(weight)
        linear.bias.zero_()
    unit.offsetscale.gamma.copy_(module.source.scale)
    unit.offsetscale.beta.copy_(module.source.shift)
    return unit


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("n", [1, 2, N, 40])
def test_the_appendix_form_is_flash_pytorchs(without_rope: None, causal: bool, n: int):
    """FLASH-pytorch's relu(q·k / n)² equals relu(c q·k / sqrt s)² with c = sqrt(s) / n. n counts all tokens of the
    text, with and without a causal mask."""
    module, x = module_of("gau-relu2", causal), 3 * inputs(n)
    records: list[Record] = []
    output = module(x, None, Intervention(factor=torch.full((1, 1, 1), SHARED**0.5 / n)), records)
    expected = theirs(module, causal)(x)
    assert_close(output, expected, rtol=1e-4, atol=1e-4 * float(expected.std()))
    assert expected.std() > 0.01 and (records[0].live > 0).any()


@pytest.mark.parametrize("attention", [name for name in UNITS if "relu2" in name])
def test_rows_that_nothing_answers_are_zero(attention: str):
    """A row with only negative scores has zero weights and zero output, not 0 / 0."""
    module = module_of(attention, causal=False)
    scores = -torch.rand(1, 1, N, N) - 0.1
    weights = module.normalise(scores)[0]
    assert_close(weights, torch.zeros(1, 1, N, N), rtol=0, atol=0)
    assert module.log_normaliser(scores).isfinite().all()


def test_a_gated_unit_has_one_head():
    with pytest.raises(ValueError, match="one head"):
        TYPES["gau-relu2"](make_config("softmax"))
