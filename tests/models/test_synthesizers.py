"""Synthesizers follow their paper (Tay et al. 2020, arXiv 2005.00743, section 3).

The types are compared by algebra with each other, with loops in float64, and with torch's attention. The loops over
heads are in oracles.py.
"""

import math
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import SOURCES, position, source_scores, torchs_attention
from tiny import HEADS, WIDTH, make_config, make_lab, make_model, random_ids, trace_of, with_attention
from torch.testing import assert_close

from models.errors import InputError
from models.generate.sampling import generator
from models.lab import run, run_prompt
from models.nets.attention import TYPES
from models.nets.attention.base import causal_mask
from models.nets.attention.dense import DenseScores, sinusoids
from models.nets.attention.factorized_dense import FactorizedDenseScores, factors_of, products
from models.nets.attention.factorized_random import FactorizedTable
from models.nets.attention.fixed_random import FixedTable
from models.nets.attention.random import Table
from models.nets.attention.rotary import rotary_table
from models.tasks.assignment import AssignmentReader
from models.tasks.base import Batch
from models.training.recipes import Recipe
from models.training.trainer import train

N = 12  # number of tokens, and size of the tables unless stated otherwise
D = WIDTH // HEADS
EXACTLY = {"rtol": 0, "atol": 0}
LIMITED = [name for name, kind in TYPES.items() if kind.source_type.is_limited]
PURE = ["random", "fixed-random", "factorized-random", "dense", "factorized-dense"]


def inputs(n: int = N, count: int = 3) -> torch.Tensor:
    return torch.randn(count, n, WIDTH, generator=torch.Generator().manual_seed(1))


def module_of(attention: str, causal: bool = True, length: int = N):
    return make_model(attention, causal=causal, length=length).blocks[1].attention


def test_which_types_have_tables():
    assert set(LIMITED) == {*PURE, "random-dense", "dense-softmax", "random-softmax"}


# Types without queries and keys.

@pytest.mark.parametrize("attention", LIMITED)
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("n", [1, 5, N])
def test_attention_with_zero_queries_and_these_logits(attention: str, causal: bool, n: int):
    """The output equals torch's attention with queries and keys of zero and the synthesized scores as its bias."""
    module, x = module_of(attention, causal), inputs(n)
    bias = source_scores(module.source, x)
    if causal:
        bias = bias.masked_fill(causal_mask(n), -math.inf)
    output = module(x, rotary_table(n, D))
    assert_close(output.double(), torchs_attention(module, x, bias, with_keys=False), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("attention", PURE)
def test_weights_do_not_depend_on_the_keys(attention: str):
    """If the last token changes, the weights of all other queries do not change. For random types the weights of the
    last query do not change either. Mixtures with q·k depend on the keys. No causal mask is used."""
    module, x = module_of(attention, causal=False), inputs()
    other = x.clone()
    other[:, -1] += 1
    weights = [module.normalise(module.scores(each, None))[0] for each in (x, other)]
    assert_close(weights[0][:, :, :-1], weights[1][:, :, :-1], rtol=1e-5, atol=1e-6)
    changed = (weights[0] - weights[1]).abs().max() > 0.01
    assert changed == ("dense" in attention)
    mixture = module_of("random-softmax", causal=False)
    weights = [mixture.normalise(mixture.scores(each, rotary_table(N, D)))[0] for each in (x, other)]
    assert (weights[0] - weights[1])[:, :, :-1].abs().max() > 0.01


@pytest.mark.parametrize("attention", LIMITED)
def test_a_text_longer_than_the_tables_has_no_weights(attention: str):
    module = module_of(attention)
    module(inputs(N), rotary_table(N, D))
    with pytest.raises(ValueError, match=f"{N} tokens; this text has {N + 1}"):
        module(inputs(N + 1), rotary_table(N + 1, D))


@pytest.mark.parametrize("attention", sorted(set(TYPES) - set(LIMITED)))
def test_other_types_have_no_limit(attention: str):
    model = make_model(attention, length=4)
    assert model.longest is None and model(random_ids(1, N)).isfinite().all()


# The random type.

@pytest.mark.parametrize("attention", ["random", "fixed-random"])
@pytest.mark.parametrize("n", [1, 7, N])
def test_random_is_the_softmax_of_its_table(attention: str, n: int):
    """For every text the weights are the softmax of the upper left corner of the table R, row by row in float64."""
    module = module_of(attention)
    weights = module.normalise(module.scores(inputs(n), None))[0]
    table = module.source.table.double().tolist()
    for head in range(HEADS):
        for i in range(n):
            row = [math.exp(table[head][i][j]) for j in range(i + 1)]
            expected = [value / sum(row) for value in row] + [0.0] * (n - i - 1)
            assert weights[0, head, i].tolist() == pytest.approx(expected, rel=1e-4, abs=1e-7)


def test_the_table_is_not_overwritten_by_the_mask():
    """Masking of scores works in place, but does not change the table. Otherwise the table would contain -inf for the
    next text."""
    for attention in LIMITED:
        module = module_of(attention)
        before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
        first, second = (module(inputs(), rotary_table(N, D)) for _ in range(2))
        assert_close(module.state_dict(), before, **EXACTLY)
        assert_close(first, second, **EXACTLY)


def test_a_factorised_table_of_full_rank_is_the_random_synthesizer(monkeypatch: pytest.MonkeyPatch):
    """With k = N, R1 = identity and R2 = R^T, the factorised random type equals the random type (section 3.4)."""
    monkeypatch.setattr("models.nets.attention.factorized_random.RANK", N)
    table = Table(make_config("random", length=N))
    factorised = FactorizedTable(make_config("factorized-random", length=N))
    factorised.query_table.data.copy_(torch.eye(N))
    factorised.key_table.data.copy_(table.table.transpose(-1, -2))
    for n in (1, 5, N):
        assert_close(factorised(inputs(n), None, 1.0), table(inputs(n), None, 1.0), **EXACTLY)


def test_a_factorised_table_has_rank_8():
    factorised = FactorizedTable(make_config("factorized-random", length=40))
    factorised.query_table.data.normal_()
    factorised.key_table.data.normal_()
    for scores in factorised(inputs(40), None, 1.0)[0].detach():
        assert torch.linalg.matrix_rank(scores) == 8


def test_a_fixed_table_is_drawn_once(tmp_path: Path):
    """A fixed table is not a parameter, has no gradient, and is unchanged by training. Tables of different seeds,
    layers and heads differ."""
    class Repeating:
        def batch(self, step: int, steps: int, seed: int) -> Batch:
            tokens = torch.randint(1, 8, (4, N), generator=generator(seed, step))
            return Batch(tokens, tokens.roll(1, 1))

        def validation(self, times: int = 1) -> list[Batch]:
            return [self.batch(0, 0, 0)]

    config = with_attention(Recipe(make_config("softmax", length=N), 0, 0.1, warmup=1), "fixed-random")
    models = {(steps, seed): train(with_attention(config, "fixed-random", steps=steps), Repeating(),
                                   tmp_path / f"{steps}-{seed}", seed, torch.device("cpu"))
              for steps, seed in ((0, 0), (4, 0), (0, 1))}
    tables = {key: torch.stack([block.attention.source.table for block in model.blocks])
              for key, model in models.items()}
    assert_close(tables[4, 0], tables[0, 0], **EXACTLY)
    assert not torch.equal(models[4, 0].blocks[0].attention.value.weight, models[0, 0].blocks[0].attention.value.weight)
    assert not torch.equal(tables[0, 1], tables[0, 0])
    flat = tables[0, 0].flatten(0, 1).flatten(1)
    assert len({tuple(row) for row in flat.tolist()}) == len(flat) == 2 * HEADS
    assert not tables[4, 0].requires_grad and not list(FixedTable(make_config("fixed-random")).parameters())
    assert float(tables[0, 0].std()) == pytest.approx(1, rel=0.1)


# The dense type.

def test_the_position_code_is_that_of_the_first_transformer():
    expected = torch.tensor([position(p, WIDTH) for p in range(200)])
    assert_close(sinusoids(200, WIDTH), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n", [1, 5, N])
@pytest.mark.parametrize("source_type", [DenseScores, FactorizedDenseScores])
def test_dense_by_loops_over_heads(source_type: type, n: int):
    """Each head uses its own rows of W1 and its own W2."""
    source = module_of("dense" if source_type is DenseScores else "factorized-dense").source
    assert type(source) is source_type
    expected = SOURCES[source_type.__name__](source, inputs(n))
    assert_close(source(inputs(n), None, 1.0).double(), expected, rtol=1e-4, atol=1e-4)
    assert expected.std() > 0.5


def test_dense_reduces_to_a_dot_product():
    """With W1 = identity, W2 = transpose of the keys and b2 = 0, the scores are x·k in each head. x + position is
    positive, so relu changes nothing. This is dot-product attention whose queries are x."""
    source = DenseScores(make_config("dense", length=N))
    keys = torch.randn(HEADS, N, D, generator=torch.Generator().manual_seed(2))
    source.hidden.linear.weight.data.copy_(torch.eye(WIDTH))
    source.hidden.linear.bias.data.zero_()
    source.positions.weight.data.copy_(keys.transpose(-1, -2))
    source.positions.bias_table.data.zero_()
    x = inputs().abs() + 1  # positional encodings are at least -1
    queries = (x + torch.tensor([position(p, WIDTH) for p in range(N)])).unflatten(-1, (HEADS, D)).transpose(1, 2)
    assert (queries > 0).all()
    expected = torch.einsum("bhid,hjd->bhij", queries, keys)
    assert_close(source(x, None, 1.0), expected, rtol=1e-4, atol=1e-4)
    value = torch.randn(3, HEADS, N, D)
    theirs = torch.nn.functional.scaled_dot_product_attention(queries, keys.expand(3, -1, -1, -1), value, scale=1.0)
    assert_close(source(x, None, 1.0).softmax(-1) @ value, theirs, rtol=1e-4, atol=1e-4)


def test_a_dense_synthesizer_distinguishes_positions():
    """The same vector at every position gives different scores, because a positional encoding is added."""
    source = module_of("dense").source
    scores = source(inputs(1).expand(-1, N, -1), None, 1.0)
    assert all((scores[:, :, i] - scores[:, :, i - 1]).abs().max() > 0.1 for i in range(1, N))


# The factorised dense type.

@given(st.integers(1, 2000))
def test_factors_are_as_near_to_each_other_as_can_be(n: int):
    a, b = factors_of(n)
    assert a * b == n and a <= b
    assert all(n % other for other in range(a + 1, b))


@given(st.integers(1, 8), st.integers(1, 8), st.data())
def test_one_hot_factors_hit_exactly_one_key(a: int, b: int, data: st.DataObject):
    """One-hot factors at p and q select key q a + p and no other key. All pairs together select every key once."""
    p, q = data.draw(st.integers(0, a - 1)), data.draw(st.integers(0, b - 1))
    scores = products(torch.eye(a)[p], torch.eye(b)[q])
    assert scores.nonzero().flatten().tolist() == [q * a + p] and scores.sum() == 1
    every = products(torch.eye(a)[:, None, :], torch.eye(b)[None])
    assert_close(every.sum((0, 1)), torch.ones(a * b), **EXACTLY)


@given(st.integers(1, 8), st.integers(1, 8))
def test_each_product_of_factors_belongs_to_one_key(a: int, b: int):
    """Each pair of factors belongs to one key, and each key has the product of its pair."""
    tiled, interleaved = [2.0**p for p in range(a)], [2.0 ** (a * q) for q in range(b)]
    scores = products(torch.tensor(tiled, dtype=torch.float64), torch.tensor(interleaved, dtype=torch.float64)).tolist()
    assert len(set(scores)) == len(scores) == a * b
    assert sorted(scores) == sorted(one * other for one in tiled for other in interleaved)


@pytest.mark.parametrize("hit", range(N))
def test_a_whole_layer_can_look_at_any_key(hit: int):
    """With W2 = 0 and large one-hot biases, all weights of a layer are on one key."""
    module = module_of("factorized-dense", causal=False)
    a, b = factors_of(N)
    for part, entry, size in ((module.source.tiled, hit % a, a), (module.source.interleaved, hit // a, b)):
        part.weight.zero_()
        part.bias_table.copy_(20 * torch.eye(size)[entry])
    weights = module.normalise(module.scores(inputs(), None))[0]
    assert_close(weights[..., hit], torch.ones(3, HEADS, N))


def test_a_fresh_factorised_dense_layer_learns():
    """An untrained layer has gradients, because both factors have the magnitude of scores. A product of two factors
    near 0 would have almost no gradient."""
    torch.manual_seed(0)
    module = TYPES["factorized-dense"](make_config("factorized-dense", length=N))
    module(inputs(), None).square().sum().backward()
    sizes = [part.weight.grad.norm() for part in (module.source.tiled, module.source.interleaved)]
    assert sizes[0] > 1e-3 and sizes[1] > 1e-5


# Mixtures of two types.

MIXTURES = {"random-dense": ("random", "dense"), "dense-softmax": ("dense", "softmax"),
            "random-softmax": ("random", "softmax")}


@pytest.mark.parametrize("attention", MIXTURES)
@pytest.mark.parametrize("part", [0, 1])
def test_a_mixture_reduces_to_either_part(attention: str, part: int):
    """With alpha = (1, 0) or (0, 1) a mixture equals one of its parts with the same parameters."""
    module, alone = module_of(attention), module_of(MIXTURES[attention][part])
    module.source.mixing_table.copy_(torch.tensor([0.0, 0.0]).index_fill(0, torch.tensor([part]), 200.0))
    assert module.source.alpha.tolist() == [1.0 - part, float(part)]
    alone.source.load_state_dict(module.source.parts[part].state_dict())
    alone.value.load_state_dict(module.value.state_dict())
    alone.output.load_state_dict(module.output.state_dict())
    x, rotary = inputs(), rotary_table(N, D)
    assert_close(module(x, rotary), alone(x, rotary), rtol=1e-5, atol=1e-5)


@given(st.lists(st.floats(-5, 5, width=32), min_size=2, max_size=2))
def test_a_mixtures_scores_are_the_weighted_sum(a: list[float]):
    """The scores before the softmax are the sum of both parts' scores, weighted by alpha. alpha = exp(a) / sum exp(a),
    so it sums to 1."""
    source = module_of("random-softmax").source
    source.mixing_table.copy_(torch.tensor(a))
    assert float(source.alpha.sum()) == pytest.approx(1) and (source.alpha > 0).all()
    x, rotary = inputs(count=1), rotary_table(N, D)
    shares = [math.exp(value) / sum(map(math.exp, a)) for value in a]
    expected = sum(share * part(x, rotary, 1.0) for share, part in zip(shares, source.parts, strict=True))
    assert_close(source(x, rotary, 1.0), expected, rtol=1e-4, atol=1e-5)


def test_a_fresh_mixture_is_half_and_half_and_learns_its_alpha():
    for attention in MIXTURES:
        torch.manual_seed(0)
        module = TYPES[attention](make_config(attention, length=N))
        assert module.source.alpha.tolist() == [0.5, 0.5]
        module(inputs(), rotary_table(N, D)).square().sum().backward()
        assert (module.source.mixing_table.grad != 0).all()


def test_the_parts_are_named_in_the_order_of_their_alphas():
    names = {"Table": "random", "DenseScores": "dense", "DotProduct": "q·k"}
    for attention in MIXTURES:
        kind = TYPES[attention]
        assert kind.parts == tuple(names[part.__name__] for part in kind.source_type.part_types)


# A model whose tables are shorter than the text limit of its family.

@pytest.mark.parametrize("attention", LIMITED)
def test_a_text_is_read_up_to_the_tables(attention: str):
    """A model with tables for 21 tokens reads, continues and runs at most 21 tokens; the limit of its family is 128.
    Constant heads have a row for each of the 21 tokens. The number of omitted tokens is reported."""
    lab = make_lab(attention, length=21)
    assert lab.limit == 21 == lab.constant["self"].shape[-1] and lab.task.limit == 128
    prompt = lab.read("a=1;" * 30)
    assert len(prompt.ids) == 21 and prompt.omitted == 40 and prompt == AssignmentReader().read("a=1;" * 30, 21)
    assert len(run(lab, "a=1;" * 30).tokens) == 21
    short = lab.read("a=1;" * 8 + "a=?")  # a text of 18 tokens
    assert len(list(lab.generate(short, count=40))) <= 3
    with pytest.raises(InputError):
        lab.read("")
    with pytest.raises(ValueError, match="21 tokens"):
        run_prompt(lab, AssignmentReader().read("a=1;" * 30))


def test_a_text_of_a_model_with_few_tokens_is_cut_between_events():
    """A text is cut between events: 20 tokens have room for BOS and nine events of two tokens."""
    lab = make_lab("random", length=20)
    prompt = lab.read("a=1;" * 30)
    assert len(prompt.ids) == 19 and trace_of(lab, torch.tensor(prompt.ids)).live["self"].shape[-1] == 19
