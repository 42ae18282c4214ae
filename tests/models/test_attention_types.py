"""Single attention types against their papers: Synthesizers (arXiv 2005.00743), gated units, selective attention.

Gated attention units with the weights relu(q·k / n)² of Hua et al. 2022 (arXiv 2202.10447) equal FLASH-pytorch; the
weights of this project, relu(q·k / sqrt s)² / n (Su Jianlin, kexue 9019), are compared with loops in test_attention.py.
Selective attention (Leviathan et al. 2024, arXiv 2410.02703) equals x-transformers; its memory need is that of loops.
"""

import copy
from pathlib import Path

import pytest
import torch
from flash_pytorch import GAU
from hypothesis import given
from hypothesis import strategies as st
from oracles import selective
from tiny import HEADS, WIDTH, make_config, make_lab, make_model, random_ids, with_attention
from torch import Tensor
from torch.testing import assert_close
from x_transformers.attend import selective_attn

from models.errors import InputError
from models.generate.decoding import generator
from models.lab import run, run_prompt
from models.nets.attention import TYPES, gated_unit
from models.nets.attention.base import Intervention, Record, causal_mask
from models.nets.attention.dense import factors_of
from models.nets.attention.dot_product import rotary_table
from models.nets.attention.gated_unit import SHARED
from models.nets.attention.random import FactorizedTable, FixedTable
from models.nets.attention.selective import Selective, memory_in_use
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
    """Both factors have the size of scores; a product of two near 0 would have almost no gradient."""
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
    """A table of 21 tokens is the limit, whatever the family's is; the omitted tokens are counted."""
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


UNITS = [name for name in TYPES if name.startswith("gau-")]


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
    """relu(q·k / n)² is relu(c q·k / sqrt s)² with c = sqrt(s) / n, with and without a mask."""
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
    """Head 1 depends on head 0 only through F."""
    scores = random_scores().requires_grad_()
    weights, _ = normalise(scores)
    weights[:, 1, -1].square().sum().backward()
    assert (scores.grad[:, 0].abs() > 0).any()
    assert scores.grad.isfinite().all()


masks = st.integers(1, 8).flatmap(lambda n: st.lists(  # layers of texts of n rows
    st.lists(st.lists(st.floats(0, 3, width=32), min_size=n * n, max_size=n * n), min_size=2, max_size=2),
    min_size=1, max_size=3).map(lambda layers: [torch.tensor(layer).view(2, n, n) for layer in layers]))


def by_loops(layers: list[Tensor], tau: float) -> float:
    """Returns the mean over texts of the fraction of memory that is needed. For each layer it is the largest need of
    any query; the sum over layers is divided by the number of layers and tokens. Query i = 1, 2, ... has i keys. A key
    with F >= tau needs no memory; a key with smaller F needs 1 - F / tau."""
    count, n = len(layers[0]), layers[0].shape[-1]
    total = 0.0
    for text in range(count):
        for layer in layers:
            needs = []
            for i in range(1, n + 1):
                freed = sum(min(float(layer[text, i - 1, k - 1]), tau) / tau for k in range(1, i + 1))
                needs.append(i - freed)
            total += max(needs)
    return total / count / (len(layers) * n)


@given(masks, st.sampled_from([0.5, 1.0, 2.0]))
def test_memory_in_use_by_loops(layers: list[Tensor], tau: float):
    assert memory_in_use(layers, tau).item() == pytest.approx(by_loops(layers, tau), rel=1e-4, abs=1e-6)


def test_memory_of_a_model():
    """The memory computed from a model's F equals loops over F. A gradient step that reduces the memory increases F."""
    model = make_model("selective").requires_grad_(True)
    records: list[Record] = []
    model(random_ids(3, 12), records=records)
    memory = memory_in_use([record.mask for record in records])
    expected = [torch.stack([selective(scores)[1] for scores in record.scores.detach()]) for record in records]
    assert memory.item() == pytest.approx(by_loops(expected, 1.0), rel=1e-4)
    assert 0.2 < memory.item() < 0.9
    leaves = [record.mask.detach().requires_grad_() for record in records]
    grads = torch.stack(torch.autograd.grad(memory_in_use(leaves), leaves))
    assert (grads <= 0).all() and (grads < 0).any()
    memory.backward()  # the gradient also reaches the weights from which F is computed
    assert (model.blocks[0].attention.source.query.weight.grad != 0).any()
