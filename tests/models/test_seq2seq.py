"""The encoder-decoder: attention against torch's, causality, padding, and cached decoding against full passes."""

import copy
from dataclasses import replace

import pytest
import tiny_pairs
import torch
from oracles import projected, torchs_attention, turn
from tiny_pairs import EXACTLY, FITTING, HEADS, LENGTH, TASK, TEXT_TYPED
from torch import Tensor
from torch.nn import functional
from torch.testing import assert_close

from models.generate.seq2seq_decoding import Writer, longest_of, search
from models.generate.seq2seq_decoding import write as translate
from models.kind import CROSS, DECODER, ENCODER
from models.nets.attention import TYPES
from models.nets.config import END, PADDING, START
from models.nets.seq2seq import Seq2Seq
from models.plan import HeadPlan
from models.tasks.pairs import BEAM
from models.tasks.translation import TranslationCorpus, TranslationMetric


def test_size_of_the_recipes():
    from models.training.recipes import RECIPES
    with torch.device("meta"):
        count = Seq2Seq(RECIPES["translation-softmax"].config).parameter_count()
    c, v = 192, 4000
    assert count == v * c + 3 * 12 * c**2 + 3 * 16 * c**2 + (3 * 2 + 3 * 3 + 2) * c == 3_867_840


def test_against_torchs_own_attention():
    """In float64; the encoder sees both ways, the decoder is causal, and cross-attention has no RoPE."""
    model = tiny_pairs.make_model("softmax")
    texts, targets = tiny_pairs.random_pairs(3, 9, 7)
    hidden = (texts == PADDING)[:, None, None]

    def norm(x: Tensor, module) -> Tensor:
        return x / (x.square().mean(-1, keepdim=True) + torch.finfo(torch.float32).eps).sqrt() * module.weight.double()

    def mlp(block, x: Tensor) -> Tensor:
        inner = functional.gelu(norm(x, block.mlp_norm) @ block.up.weight.double().T, approximate="tanh")
        return inner @ block.down.weight.double().T

    x = model.embedding.weight.double()[texts]
    bias = torch.zeros(3, 1, 9, 9, dtype=torch.float64).masked_fill(hidden, -torch.inf)
    for block in model.encoder:
        x = x + torchs_attention(block.attention, norm(x, block.attention_norm), bias)
        x = x + mlp(block, x)
    memory = norm(x, model.encoder_norm)
    x = model.embedding.weight.double()[targets]
    for block in model.decoder:
        x = x + torchs_attention(block.attention, norm(x, block.attention_norm))
        query = projected(norm(x, block.cross_norm), block.cross.source.query.weight, HEADS)
        key, value = (projected(memory, linear.weight, HEADS) for linear in (block.cross.source.key, block.cross.value))
        read = functional.scaled_dot_product_attention(query, key, value, ~hidden)
        x = x + torch.cat(read.unbind(1), -1) @ block.cross.output.weight.double().T
        x = x + mlp(block, x)
    expected = norm(x, model.norm) @ model.embedding.weight.double().T
    # cross-attention has no RoPE, which would change its keys
    assert turn(key).shape == key.shape and not torch.allclose(turn(key), key)
    assert_close(model.logits(model(texts, targets)).double(), expected, rtol=1e-3, atol=1e-3)


@tiny_pairs.every_type
def test_causality(attention: str):
    """Later target tokens change no earlier position. Every token of the source text changes all positions."""
    model, (texts, targets) = tiny_pairs.make_model(attention), tiny_pairs.random_pairs(1, 9, 8)
    plain = model(texts, targets)
    changed = targets.clone()
    changed[0, 5] = 77
    other = model(texts, changed)
    assert_close(other[0, :5], plain[0, :5], **EXACTLY)
    assert ((other[0, 5:] - plain[0, 5:]).abs().amax(-1) > 1e-3).all()
    changed = texts.clone()
    changed[0, 4] = 77
    assert ((model(changed, targets) - plain).abs().amax(-1) > 1e-5).all()


@tiny_pairs.every_type
def test_padding_changes_nothing(attention: str):
    """A pair in a batch with longer pairs gives the same result as alone. Attention weights on padding are 0."""
    model, (texts, targets) = tiny_pairs.make_model(attention), tiny_pairs.random_pairs(5, 12, 10)
    together, records = model(texts, targets), tiny_pairs.records_of(model, texts, targets)
    for row in range(5):
        m, n = int((texts[row] != PADDING).sum()), int((targets[row] != PADDING).sum())
        alone = model(texts[row:row + 1, :m], targets[row:row + 1, :n])[0]
        assert_close(together[row, :n], alone, rtol=1e-4, atol=1e-4)
        for kind in (ENCODER, CROSS):
            assert all((record.live[row, ..., m:] == 0).all() for record in records[kind])
    assert (texts[4] == PADDING).any()


def test_types_that_cannot_be_in_it():
    """Gated units and scores that depend on the number of keys are refused; cross-attention is softmax."""
    assert set(FITTING) == {name for name, kind in TYPES.items() if not kind.replaces_mlp} - \
        {"log-n", "scalable-softmax", "temperature"}
    for name in set(TYPES) - set(FITTING):
        with pytest.raises(ValueError, match="two texts"):
            Seq2Seq(replace(tiny_pairs.make_model("softmax").config, attention=name, heads=1))
    for name in FITTING:
        model = tiny_pairs.make_model(name)
        assert {type(module) for module in model.attentions(DECODER)} == {TYPES[name]}
        assert {type(module) for module in model.attentions(CROSS)} == {TYPES["softmax"]}
        assert type(model.attentions(ENCODER)[0]) is TYPES["softmax" if name == "selective" else name]
        assert not model.attentions(ENCODER)[0].causal and model.attentions(DECODER)[0].causal


def test_dropout_is_for_training_alone():
    model, pair = copy.deepcopy(tiny_pairs.make_model("softmax")), tiny_pairs.random_pairs(1, 6, 5)
    model.dropout = 0.5
    assert_close(model(*pair), tiny_pairs.make_model("softmax")(*pair), **EXACTLY)
    model.train()
    assert not torch.equal(model(*pair), model(*pair))


# Generation.

@tiny_pairs.every_type
def test_a_cache_equals_whole_passes(attention: str):
    """Also while candidates are reordered and dropped, and under a plan."""
    which = tiny_pairs.make_lab(attention)
    plan = HeadPlan().constant(DECODER, 0, 1).constant(CROSS, 1, 2).gate(ENCODER, 0, 0, 0.3).gate(DECODER, 1, 3, 0.2)
    plan = plan.with_scale("logn", 9)
    texts, _ = tiny_pairs.random_pairs(2, 9, 3)
    for interventions in (None, which.interventions(plan, 9, LENGTH)):
        some = texts if interventions is None else texts[:1].expand(2, -1)
        fast, slow = (Writer(which.model, some, interventions, cached=cached) for cached in (True, False))
        assert fast.cached == (attention != "selective")
        ids, parents = torch.tensor([START, START]), torch.tensor([0, 1])
        for step, following in enumerate(([0, 0, 1, 1], [1, 0, 3, 2], [0, 0, 3, 3], [2, 3], [0, 1], [1, 0])):
            one, other = fast.step(ids, parents), slow.step(ids, parents)
            assert_close(one, other, rtol=1e-4, atol=1e-4)
            parents = torch.tensor(following)
            ids = torch.randint(3, 4000, (len(following),), generator=torch.Generator().manual_seed(step))


def test_a_translation_is_what_search_finds_by_whole_passes():
    which, prompt = tiny_pairs.make_lab(), TASK.read(TEXT_TYPED)

    rows: list[list[int]] = [[]]

    def step(ids: Tensor, parents: Tensor) -> Tensor:
        rows[:] = [[*rows[parent], token] for parent, token in zip(parents.tolist(), ids.tolist(), strict=True)]
        found = [which.model(torch.tensor([prompt.ids]), torch.tensor([row]))[0, -1] for row in rows]
        return which.model.logits(torch.stack(found)).log_softmax(-1)

    longest = longest_of(len(prompt.ids), LENGTH)
    assert which.translate(prompt) == search(step, [longest], BEAM, START, END)[0][0].ids


def test_texts_together_as_alone():
    """A text in a batch of several lengths, in any order, has the same translation as alone."""
    model = tiny_pairs.make_model("softmax")
    ids = [TASK.read(text).ids for text in ("Go.", TEXT_TYPED, "I know.", "He has never seen it before.")]
    together = translate(model, ids, 3)
    assert [found.ids for found in together] == [translate(model, [each], 3)[0].ids for each in ids]
    metric = TranslationMetric(TranslationCorpus(TASK))
    words = metric.translate(model, ["I know.", TEXT_TYPED], 2, together=1)
    assert words == metric.translate(model, ["I know.", TEXT_TYPED], 2)


def test_blocks_begin_as_small_as_their_own_stack_is_deep():
    """Weights that write to the residual stream have the factor 1 / sqrt(writers x layers)."""
    torch.manual_seed(0)
    config = replace(tiny_pairs.make_model("softmax").config, width=128, heads=4, layers=1, encoder_layers=9)
    model = Seq2Seq(config, initial_std=0.1)
    assert float(model.encoder[0].down.weight.std()) == pytest.approx(0.1 / (2 * 9) ** 0.5, rel=0.03)
    # a decoder layer has three writers: self-attention, cross-attention and MLP
    assert float(model.decoder[0].down.weight.std()) == pytest.approx(0.1 / 3**0.5, rel=0.03)
