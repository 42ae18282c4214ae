"""Factors on the scores that depend on the text length, as trained types and as scale policies of a plan.

The factors are log n (Su Jianlin, kexue 8823), the control of log n with constant temperature, scalable softmax
(Nakanishi 2025) and relu² / n.
"""

import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import logits, source_scores, torchs_attention
from tiny import HEADS, WIDTH, either_way, make_config, make_lab, make_model, random_ids, trace_of
from torch.testing import assert_close

from models.nets.attention import TYPES
from models.nets.attention.base import causal_mask
from models.nets.attention.rotary import rotary_table
from models.nets.attention.scale import policy_factor
from models.plan import POLICIES, HeadPlan, Scale

N = 11
EXACTLY = {"rtol": 0, "atol": 0}
SOFTMAX_POLICIES, RELU2_POLICIES = ("trained", "sqrt", "logn"), ("trained", "fixed", "length")


def module_and_input(attention: str, causal: bool, n: int = N, length: int = 128):
    module = make_model(attention, causal=causal, length=length).blocks[1].attention
    return module, torch.randn(2, n, WIDTH, generator=torch.Generator().manual_seed(1))


def layer(module, x: torch.Tensor) -> torch.Tensor:
    return module(x, rotary_table(x.shape[1], WIDTH // module.heads))


def scaled_by_torch(module, x: torch.Tensor, factor) -> torch.Tensor:
    """Returns the layer's output by torch's attention, with scores multiplied query by query. `factor` is a function of
    the head and the number of visible keys."""
    raw, n = source_scores(module.source, x), x.shape[1]
    for head in range(module.heads):
        for i in range(n):
            raw[:, head, i] *= factor(head, i + 1 if module.causal else n)
    bias = raw.masked_fill(causal_mask(n), -math.inf) if module.causal else raw
    return torchs_attention(module, x, bias, with_keys=False)



@pytest.mark.parametrize("causal", [True, False])
def test_log_n_by_torchs_attention(causal: bool):
    module, x = module_and_input("log-n", causal)
    expected = scaled_by_torch(module, x, lambda head, keys: math.log(keys) / math.log(512))
    assert_close(layer(module, x).double(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("causal", [True, False])
def test_scalable_softmax_by_torchs_attention(causal: bool):
    """Each head's scores are multiplied by the head's own factor."""
    module, x = module_and_input("scalable-softmax", causal)
    s = module.scalable.tolist()
    assert len(set(s)) == HEADS
    expected = scaled_by_torch(module, x, lambda head, keys: s[head] * math.log(keys))
    assert_close(layer(module, x).double(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("length", [64, 128])
def test_temperature_by_torchs_attention(causal: bool, length: int):
    """Every query has torch's scale times the same factor, whatever the length of the text."""
    module, x = module_and_input("temperature", causal, length=length)
    # 512 = 2^9, so the factor of length 2^k is k / 9
    expected = scaled_by_torch(module, x, lambda head, keys: {64: 2 / 3, 128: 7 / 9}[length])
    assert_close(layer(module, x).double(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("one, other", [("log-n", "temperature"), ("gau-log-n", "gau-softmax")])
@pytest.mark.parametrize("n", [5, N])
def test_log_n_is_a_constant_temperature_at_the_trained_length(one: str, other: str, n: int):
    """log n and constant temperature agree at the trained length and at no other length. Both types have the same
    weights and no causal mask."""
    modules = [module_and_input(attention, False, length=N)[0] for attention in (one, other)]
    modules[1].load_state_dict(modules[0].state_dict())
    x = torch.randn(2, n, WIDTH, generator=torch.Generator().manual_seed(1))
    outputs = [layer(modules[0], x), layer(modules[1], x)]
    if one == "gau-log-n":  # the comparison for gau-log-n is softmax with a constant factor
        factor = torch.full((1, 1, 1), math.log(N) / math.log(512))
        outputs = [module.source(x, None, module.trained_factor(n) if module is modules[0] else factor)
                   for module in modules]
    if n == N:
        assert_close(outputs[0], outputs[1])
    else:
        assert (outputs[0] - outputs[1]).abs().max() > 0.01


def test_scalable_softmax_starts_as_softmax_on_average():
    """The mean of s ln n over a causal text of the trained length is 1 (s = 0.168 for 1,024, as in the source). Without
    a mask all queries see all keys, and the initial model is softmax exactly."""
    kind = TYPES["scalable-softmax"]
    for length in (64, 1024):
        module = kind(make_config("scalable-softmax", length=length))
        assert module.trained_factor(length).mean().item() == pytest.approx(1, rel=1e-5)
        module = kind(make_config("scalable-softmax", causal=False, length=length))
        assert_close(module.trained_factor(length), torch.ones(HEADS, 1, 1))
    assert kind(make_config("scalable-softmax", length=1024)).scalable[0].item() == pytest.approx(0.168, abs=5e-4)


def test_scalable_softmax_learns_its_factor():
    module, x = module_and_input("scalable-softmax", True)
    module.requires_grad_(True)
    layer(module, x).square().sum().backward()
    assert (module.scalable.grad != 0).all()


# relu² attention

@given(st.floats(0.01, 100))
def test_relu2_is_homogeneous(c: float):
    """Scores times c give weights times c². Therefore no factor makes relu² attention more concentrated, and log n does
    not help it (kexue 9019)."""
    module = TYPES["gau-relu2"](make_config("gau-relu2"))
    scores = torch.randn(2, 1, N, N, generator=torch.Generator().manual_seed(1)).masked_fill(causal_mask(N), -math.inf)
    once, scaled = module.normalise(scores)[0], module.normalise(c * scores)[0]
    assert_close(scaled, c * c * once, rtol=1e-4, atol=0)
    assert (once.tril() > 0).any() and (once.triu(1) == 0).all()


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("attention, expected", [("gau-relu2", 128), ("gau-relu2-mixed", N)])
def test_what_relu2_is_divided_by(attention: str, expected: int, causal: bool):
    """The divisor of relu² attention is the trained length or the text's length, compared entry by entry in Python. The
    type trained with mixed lengths counts all tokens of the text, with and without a causal mask."""
    module, x = module_and_input(attention, causal)
    raw = source_scores(module.source, x)[:, 0].tolist()
    live = module.normalise(module.scores(x, None))[0][:, 0].tolist()
    for text in range(2):
        for i in range(N):
            for j in range(N):
                seen = not causal or j <= i
                weight = max(0.0, raw[text][i][j]) ** 2 / expected if seen else 0.0
                assert live[text][i][j] == pytest.approx(weight, rel=1e-3, abs=1e-6)


def test_the_learned_divisor_starts_at_the_trained_length_and_learns():
    module = TYPES["gau-relu2-learned"](make_config("gau-relu2-learned", length=64))
    assert module.trained_factor(7).item() ** -2 == pytest.approx(64, rel=1e-4)
    x = torch.randn(1, N, WIDTH, generator=torch.Generator().manual_seed(1))
    layer(module, x).square().sum().backward()
    assert module.log_divisor.grad != 0


# scale policies of a plan

def test_which_policies_a_type_has(attention: str):
    """Types with q·k scores offer scales, and Synthesizers offer none. Only relu² attention offers 1 / n."""
    expected = ("trained",)
    if attention in ("softmax", "log-n", "scalable-softmax", "temperature", "selective", "gated", "gau-softmax",
                     "gau-log-n"):
        expected = SOFTMAX_POLICIES
    elif "relu2" in attention:
        expected = RELU2_POLICIES
    assert TYPES[attention].policies == expected


def scales_of(attention: str) -> list[Scale]:
    return [Scale(policy, 9 if policy == "logn" else None) for policy in TYPES[attention].policies]


@either_way
def test_a_policy_replaces_the_trained_factor(attention: str, causal: bool):
    """Under every policy of a type, the scores of each query are q·k / sqrt d times the policy's factor."""
    module, x = module_and_input(attention, causal)
    raw = source_scores(module.source, x)
    future = causal_mask(N) if causal else torch.zeros(N, N, dtype=torch.bool)
    for scale in scales_of(attention):
        expected = raw.clone()
        for i in range(N):
            keys = i + 1 if causal else N
            expected[:, :, i] *= {"trained": 1, "sqrt": 1, "logn": math.log(keys) / math.log(9),
                                  "length": keys**-0.5, "fixed": 128**-0.5}[scale.policy]
        if scale.policy == "trained":
            expected = logits(module, x)
        found = module.scores(x, rotary_table(N, WIDTH // module.heads), module.factor(scale, N))
        expected = expected.masked_fill(future, -math.inf)
        assert_close(found.double().expand_as(expected), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("attention, policy", [("softmax", "sqrt"), ("selective", "sqrt"), ("gau-softmax", "sqrt"),
                                               ("gau-relu2", "fixed")])
def test_the_policy_that_a_type_was_trained_with_changes_nothing(attention: str, policy: str):
    lab, ids = make_lab(attention), random_ids(1, N)[0]
    before, after = trace_of(lab, ids), trace_of(lab, ids, HeadPlan().with_scale(policy))
    # rounding of the square root makes a small difference
    tolerance = EXACTLY if policy == "sqrt" else {"rtol": 1e-4, "atol": 1e-6}
    for name in ("scores", "live", "norms"):
        assert_close(torch.tensor(getattr(after, name)["self"]), torch.tensor(getattr(before, name)["self"]),
                     **tolerance)
    assert_close(torch.tensor(after.output.distribution), torch.tensor(before.output.distribution), **tolerance)


@pytest.mark.parametrize("base", [2, N, 64, 512])
def test_log_n_as_a_policy_is_log_n_as_a_type(base: int):
    """With base 512 the plan's scale equals the trained type log-n. With any base, a query that sees `base` keys has
    the scale 1 / sqrt d."""
    lab, ids = make_lab("log-n"), random_ids(1, N)[0]
    policy, trained, sqrt = (trace_of(lab, ids, plan).scores["self"] for plan in (
        HeadPlan().with_scale("logn", base), HeadPlan(), HeadPlan().with_scale("sqrt")))
    if base == 512:
        assert_close(torch.tensor(policy), torch.tensor(trained))
    else:
        assert abs(policy[0, :, 5, :6] - trained[0, :, 5, :6]).max() > 0.01
    if base <= N:
        assert_close(torch.tensor(policy[0, :, base - 1, :base]), torch.tensor(sqrt[0, :, base - 1, :base]))


def test_log_n_without_a_causal_mask():
    """Without a causal mask every query sees all keys, so all queries have the same factor."""
    scale = Scale("logn", 64)
    assert_close(policy_factor(scale, 8, False, 1).expand(1, 5, 1), torch.full((1, 5, 1), math.log(8) / math.log(64)))
    assert_close(policy_factor(scale, 8, True, 1).flatten(), torch.arange(1, 9).log() / math.log(64))


@given(st.integers(1, 128), st.integers(1, 512))
def test_length_and_fixed_agree_at_the_trained_length(n: int, length: int):
    """The policies n = length and n fixed agree at the trained length. Shorter texts have larger weights with n =
    length. With a causal mask the policies agree for the query that sees `length` keys."""
    both = [policy_factor(Scale(policy), n, False, length) for policy in ("length", "fixed")]
    assert (both[0] / both[1]).item() == pytest.approx((length / n) ** 0.5, rel=1e-6)
    causal = policy_factor(Scale("length"), n, True, length).flatten()
    if n >= length:
        assert causal[length - 1].item() == pytest.approx(both[1].item())
    assert all(a > b for a, b in pairwise(causal.tolist()))


@pytest.mark.parametrize("attention", [name for name in TYPES if "relu2" in name])
@pytest.mark.parametrize("n, equal", [(N, True), (N - 4, False)])
def test_length_and_fixed_are_the_same_weights_at_the_trained_length(attention: str, n: int, equal: bool):
    lab, ids = make_lab(attention, causal=False, length=N), random_ids(1, n)[0]
    length, fixed = (torch.tensor(trace_of(lab, ids, HeadPlan().with_scale(policy)).live["self"])
                     for policy in ("length", "fixed"))
    if equal:
        assert_close(length, fixed)
    else:
        assert_close(length[0], fixed[0] * N / n)
        assert (length[0] - fixed[0]).abs().max() > 0.01


def test_a_policy_that_means_nothing_is_refused(attention: str):
    """A policy that the type does not support is refused with a message before anything is computed."""
    lab = make_lab(attention)
    for policy in set(POLICIES) - set(TYPES[attention].policies):
        with pytest.raises(ValueError, match=f"{policy} means nothing"):
            trace_of(lab, random_ids(1, N)[0], HeadPlan().with_scale(policy, 64 if policy == "logn" else None))
