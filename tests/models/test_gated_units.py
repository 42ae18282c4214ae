"""Gated attention units follow their paper (Hua et al. 2022, arXiv 2202.10447).

With the paper's weights relu(q·k / n)² the units equal FLASH-pytorch. With the weights of this project, relu(q·k / sqrt
s)² / n (Su Jianlin, kexue 9019), they equal plain loops.
"""

import math

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


def test_the_two_forms_differ_by_a_constant_at_each_length(without_rope: None):
    """The two forms have the factors 1 / n² and 1 / (n s), so their ratio is s / n."""
    module = module_of("gau-relu2-mixed", causal=False)
    for n in (3, 17):
        x = inputs(n)
        ours = module.normalise(module.scores(x, None))[0]
        appendix = module.normalise(module.scores(x, None, torch.full((1, 1, 1), SHARED**0.5 / n)))[0]
        assert_close(appendix, ours * SHARED / n, rtol=1e-4, atol=1e-7)


def swish(x: float) -> float:
    return x / (1 + math.exp(-x))


def product(weight: list[list[float]], x: list[float]) -> list[float]:
    return [math.fsum(w * value for w, value in zip(row, x, strict=True)) for row in weight]


def turned(x: list[float], p: int) -> list[float]:
    """Rotates the pairs (k, k + s/2) of x by RoPE, with the angle p 10000^(-2k/s) at position p."""
    half = len(x) // 2
    result = [0.0] * len(x)
    for k in range(half):
        angle = p * 10_000.0 ** (-k / half)
        result[k] = x[k] * math.cos(angle) - x[k + half] * math.sin(angle)
        result[k + half] = x[k] * math.sin(angle) + x[k + half] * math.cos(angle)
    return result


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("attention", UNITS)
def test_our_form_in_loops(attention: str, causal: bool):
    """The output equals loops over single entries in Python's floats, computed from the layer's input."""
    module = module_of(attention, causal)
    x = inputs(5, 1)
    state = {name: tensor.double().tolist() for name, tensor in module.state_dict().items()}
    rows = x[0].double().tolist()
    n, s = len(rows), SHARED
    gates, values = ([[swish(v) for v in product(state[f"{name}.weight"], row)] for row in rows]
                     for name in ("gate", "value"))
    z = [[swish(v) for v in product(state["source.shared.weight"], row)] for row in rows]
    query, key = ([turned([g * v + b for g, v, b in zip(state["source.scale"][i], row, state["source.shift"][i],
                                                        strict=True)], p)
                   for p, row in enumerate(z)] for i in (0, 1))
    divisors = {"gau-relu2": 64, "gau-relu2-mixed": n,
                "gau-relu2-learned": math.exp(state.get("log_divisor", 0))}
    for i in range(n):
        seen = range(i + 1 if causal else n)
        raw = [math.fsum(a * b for a, b in zip(query[i], key[j], strict=True)) / math.sqrt(s) for j in seen]
        if attention in divisors:
            weights = [max(0.0, score) ** 2 / divisors[attention] for score in raw]
        else:
            factor = math.log(len(seen), 512) if attention == "gau-log-n" else 1.0
            exponentials = [math.exp(factor * score) for score in raw]
            weights = [e / math.fsum(exponentials) for e in exponentials]
        mixed = [math.fsum(w * values[j][e] for w, j in zip(weights, seen, strict=True)) for e in range(2 * WIDTH)]
        expected = product(state["output.weight"], [u * o for u, o in zip(gates[i], mixed, strict=True)])
        found = module(x, None)[0, i]
        assert_close(found.double(), torch.tensor(expected, dtype=torch.float64), rtol=1e-3, atol=1e-4)


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


def test_a_unit_takes_the_place_of_the_mlp():
    names = set(dict(make_model("gau-softmax").blocks[0].named_modules()))
    assert not names & {"up", "down", "mlp_norm"} and "up" in dict(make_model("softmax").blocks[0].named_modules())
