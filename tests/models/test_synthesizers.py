"""Synthesizers (Tay et al. 2020, arXiv 2005.00743): tables, their limits, initial values and gradients."""

import copy
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny import HEADS, WIDTH, make_config, make_lab, make_model, random_ids, with_attention
from torch.testing import assert_close

from models.errors import InputError
from models.generate.decoding import generator
from models.lab import run, run_prompt
from models.nets.attention import TYPES
from models.nets.attention.dense import factors_of
from models.nets.attention.dot_product import rotary_table
from models.nets.attention.random import FactorizedTable, FixedTable
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


@pytest.mark.parametrize("attention", LIMITED)
def test_a_text_longer_than_the_tables_has_no_weights(attention: str):
    module = module_of(attention)
    before = copy.deepcopy(module.state_dict())
    module(inputs(N), rotary_table(N, D))
    assert_close(module.state_dict(), before, **EXACTLY)  # scores are masked in place, and the table is not
    with pytest.raises(ValueError, match=f"{N} tokens; this text has {N + 1}"):
        module(inputs(N + 1), rotary_table(N + 1, D))


@pytest.mark.parametrize("attention", sorted(set(TYPES) - set(LIMITED)))
def test_other_types_have_no_limit(attention: str):
    model = make_model(attention, length=4)
    assert model.longest is None and model(random_ids(1, N)).isfinite().all()


def test_a_fixed_table_is_drawn_once(tmp_path: Path):
    """It is no parameter and unchanged by training; tables of seeds, layers and heads differ."""
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


# The factorised dense type.

@given(st.integers(1, 2000))
def test_factors_are_as_near_to_each_other_as_can_be(n: int):
    a, b = factors_of(n)
    assert a * b == n and a <= b
    assert all(n % other for other in range(a + 1, b))


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


def test_a_factorised_table_has_rank_8():
    factorised = FactorizedTable(make_config("factorized-random", length=40))
    factorised.query_table.data.normal_()
    factorised.key_table.data.normal_()
    for scores in factorised(inputs(40), None, 1.0)[0].detach():
        assert torch.linalg.matrix_rank(scores) == 8
