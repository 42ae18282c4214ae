"""The Lab of the encoder-decoder: plans on all three attention blocks, constant matrices, and model files."""

import copy
import time
from dataclasses import replace
from pathlib import Path

import numpy
import pytest
import tiny_pairs
import torch
from tiny import written
from tiny_pairs import EXACTLY, HEADS, KINDS, LENGTH, TASK, TEXT_TYPED
from torch.testing import assert_close

import models
from models import catalogue
from models.kind import CROSS, DECODER, ENCODER, TARGET, TEXT
from models.labs.seq2seq import Seq2SeqLab
from models.nets.attention import TYPES, kinds_of
from models.nets.config import END, PADDING, START
from models.nets.mean_patterns import mean_pair_patterns
from models.nets.seq2seq import Seq2Seq
from models.plan import HeadPlan
from models.storage import checkpoint
from models.storage.checkpoint import CheckpointError, read_card


def test_kinds():
    which = tiny_pairs.make_lab("random")
    assert [kind.name for kind in which.kinds] == list(KINDS)
    assert which.shape == {ENCODER: (3, 4), DECODER: (2, 4), CROSS: (2, 4)}
    assert [(k.query_row, k.key_row, k.causal) for k in which.kinds] == \
        [(TEXT, TEXT, False), (TARGET, TARGET, True), (TARGET, TEXT, False)]
    assert [k.attention.title for k in which.kinds] == [TYPES["random"].title] * 2 + [TYPES["softmax"].title]


@tiny_pairs.every_type
def test_a_trace(attention: str):
    """The generated text is the best candidate of beam search, with the model's predictions."""
    which = tiny_pairs.make_lab(attention)
    trace = models.run(which, TEXT_TYPED)
    assert trace.tokens == list(trace.rows[TEXT]) == list(TASK.read(TEXT_TYPED).tokens)
    target = trace.rows[TARGET]
    target_ids = which.translate(trace.prompt)
    assert target[0] == "start" and trace.written == TASK.written(target_ids)
    assert target[1:] == tuple(TASK.labels[i] for i in target_ids if i != END)[:LENGTH - 1]
    sizes = {TEXT: len(trace.tokens), TARGET: len(target)}
    for kind in which.kinds:
        shape = (kind.layers, kind.heads, sizes[kind.query_row], sizes[kind.key_row])
        for array in (trace.scores, trace.live, trace.weights):
            assert array[kind.name].shape == shape and array[kind.name].dtype == numpy.float32
        assert trace.norms[kind.name].shape == shape[:3] and trace.weights[kind.name] is trace.live[kind.name]
        assert (trace.weights[kind.name].sum(-1) - 1).__abs__().max() < 1e-5
    assert (trace.mask is None) == (attention != "selective")
    assert [output.position for output in trace.outputs] == list(range(len(target)))
    expected = which.model.logits(which.model(torch.tensor([trace.prompt.ids]),
                                              torch.tensor([[START, *target_ids][:len(target)]]))[0]).softmax(-1)
    assert_close(torch.tensor(numpy.stack([output.distribution for output in trace.outputs])), expected)
    assert trace.output.names == TASK.labels and numpy.isnan(trace.losses).all() and numpy.isnan(trace.loss)


def test_plans_are_run_each_on_its_own():
    which, prompt = tiny_pairs.make_lab(), TASK.read(TEXT_TYPED)
    plan = HeadPlan().gate(CROSS, 0, 0, 0).gate(CROSS, 1, 1, 0).constant(ENCODER, 2, 1)
    before, after = which.run(prompt, [HeadPlan(), plan])
    assert before.written == models.run(which, TEXT_TYPED).written
    assert after.written == models.run(which, TEXT_TYPED, plan).written != before.written


def test_an_anchored_text_has_the_untouched_row():
    """Maps of both plans are about the baseline's tokens; the plan's own text comes later, by `rewrite`."""
    which = tiny_pairs.make_lab()
    prompt = which.anchored(TASK.read(TEXT_TYPED))
    plan = HeadPlan().with_heads(which.kind(CROSS).addresses, gate=0)
    before, after = which.run(prompt, [HeadPlan(), plan])
    assert which.anchored(prompt) is prompt and before.rows == after.rows
    assert before.rows == models.run(which, TEXT_TYPED).rows and before.written == models.run(which, TEXT_TYPED).written
    assert all(output.row == TARGET for output in before.outputs + after.outputs)
    assert after.written is None and which.rewrite(prompt, HeadPlan()) == before.written
    assert which.rewrite(prompt, plan) == models.run(which, TEXT_TYPED, plan).written != before.written
    text, target = torch.tensor(prompt.ids), torch.tensor(prompt.target)
    expected = tiny_pairs.logits(which, text, target, plan).softmax(-1)
    assert_close(torch.tensor(numpy.stack([output.distribution for output in after.outputs])), expected)


def test_an_empty_plan_in_other_words_changes_nothing():
    """Gates of 1 change nothing, bit by bit, and need no intervention."""
    which, (texts, targets) = tiny_pairs.make_lab(), tiny_pairs.random_pairs(1, 9, 8)
    untouched = tiny_pairs.logits(which, texts[0], targets[0], HeadPlan())
    ones = {kind.name: [models.labs.stack.Intervention(gate=torch.ones(kind.heads, 1, 1))] * kind.layers
            for kind in which.kinds}
    assert_close(which.model.logits(which.model(texts, targets, ones)[0]), untouched, **EXACTLY)
    assert which.interventions(HeadPlan().with_heads(tiny_pairs.every_head(which), gate=1.0), 9, 8) is None


@pytest.mark.parametrize("attention", ["softmax", "dense", "selective"])
@pytest.mark.parametrize("kind, layer, head", [(ENCODER, 2, 1), (DECODER, 1, 0), (CROSS, 0, 3)])
def test_pruning_is_zeroing_a_slice_of_w_o(attention: str, kind: str, layer: int, head: int):
    which, (texts, targets) = tiny_pairs.make_lab(attention), tiny_pairs.random_pairs(1, 9, 8)
    pruned = copy.deepcopy(which.model)
    pruned.attentions(kind)[layer].output.weight.unflatten(1, (HEADS, -1))[:, head] = 0
    found = tiny_pairs.logits(which, texts[0], targets[0], HeadPlan().gate(kind, layer, head, 0))
    assert_close(found, pruned.logits(pruned(texts, targets)[0]), rtol=1e-4, atol=1e-4)
    assert (found - tiny_pairs.logits(which, texts[0], targets[0], HeadPlan())).abs().max() > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_constant_and_pruned_heads_of_a_kind(kind: str):
    """Constant heads have the stored weights; with all heads pruned the model still generates text."""
    which = tiny_pairs.make_lab()
    trace = models.run(which, TEXT_TYPED, HeadPlan().constant(kind, 1, 2))
    its = which.kind(kind)
    rows, columns = (len(trace.rows[row]) for row in (its.query_row, its.key_row))
    stored = which.constant[kind][1, 2, :rows, :columns]
    assert_close(torch.tensor(trace.weights[kind][1, 2]), stored / stored.sum(-1, keepdim=True))
    assert_close(torch.tensor(trace.weights[kind][1, 2]), torch.tensor(which.constant_of(kind, 1, rows, columns)[2]))
    assert abs(trace.weights[kind][1, 2] - trace.live[kind][1, 2]).max() > 0.01
    assert (trace.weights[kind][0] == trace.live[kind][0]).all()
    every = models.run(which, TEXT_TYPED, HeadPlan().with_heads(tiny_pairs.every_head(which), constant=True))
    assert all(abs(every.weights[name].sum(-1) - 1).max() < 1e-5 for name in KINDS)
    plan = HeadPlan().with_heads(which.kind(kind).addresses, gate=0)
    trace = models.run(which, TEXT_TYPED, plan)
    assert (trace.norms[kind] == 0).all() and numpy.isfinite(trace.output.distribution).all()
    if kind == CROSS:  # without cross-attention the output does not depend on the text
        assert models.run(which, "I know.", plan).outputs[0].labels[:5] == trace.outputs[0].labels[:5]


def test_a_scale_reaches_all_kinds():
    """The factor is log n / log 9, where n is the number of keys that a query of the block sees."""
    which = tiny_pairs.make_lab()
    trace = models.run(which, TEXT_TYPED, HeadPlan().with_scale("logn", 9))
    text = torch.tensor([trace.prompt.ids])
    plain = tiny_pairs.records_of(which.model, text, torch.tensor([[START]]))[ENCODER][0].scores[0]
    ratio = numpy.log(text.shape[1]) / numpy.log(9)
    assert_close(torch.tensor(trace.scores[ENCODER][0]), plain * ratio, rtol=1e-4, atol=1e-4)
    assert trace.scores[DECODER][0, 0, 0, 0] == 0  # the first query sees one key, and log 1 = 0


@pytest.mark.parametrize("absent", [("self", 0, 0), (ENCODER, 3, 0), (DECODER, 2, 0), (CROSS, 0, 4)])
def test_a_head_that_is_not_there(absent: tuple):
    with pytest.raises(ValueError, match="tiny-softmax"):
        models.run(tiny_pairs.make_lab(), TEXT_TYPED, HeadPlan().gate(*absent, 0.5))


# Constant matrices and model files.

def test_means_are_over_pairs_in_which_both_positions_exist():
    """Then each row is divided by its sum; a row that no pair has is uniform."""
    model, (texts, targets) = tiny_pairs.make_model("softmax"), tiny_pairs.random_pairs(40, 10, 12)
    targets[:, 9:] = PADDING
    found = mean_pair_patterns(model, texts, targets)
    exists = {TEXT: texts != PADDING, TARGET: targets != PADDING}
    records = tiny_pairs.records_of(model, texts, targets)
    for kind in kinds_of(model.config):
        rows, columns = exists[kind.query_row], exists[kind.key_row]
        for layer, record in enumerate(records[kind.name]):
            for i in range(rows.shape[1]):
                row = torch.zeros(HEADS, columns.shape[1])
                for j in range(columns.shape[1]):
                    both = rows[:, i] & columns[:, j]
                    if both.any() and (j <= i or not kind.causal):
                        row[:, j] = record.live[both, :, i, j].mean(0)
                if not rows[:, i].any():
                    seen = i + 1 if kind.causal else columns.shape[1]
                    row[:, :seen] = 1 / seen
                expected = row / row.sum(-1, keepdim=True)
                assert_close(found[kind.name][layer, :, i], expected, rtol=1e-4, atol=1e-6)
    assert not exists[TARGET][:, 9:].any()


NAME = "translation-random"


@pytest.fixture
def folder(checkpoints: Path) -> Path:
    which = tiny_pairs.make_lab("random")
    return written(checkpoints / NAME, "translation", which.model, which.constant)


def test_what_is_written_is_read(folder: Path):
    tiny, read = tiny_pairs.make_lab("random"), models.load(NAME)
    assert isinstance(read, Seq2SeqLab) and read.model.config == tiny.model.config and read.card == read_card(folder)
    for kind in KINDS:
        assert_close(read.constant[kind], tiny.constant[kind], rtol=2**-9, atol=2**-20)
    assert read.model.state_dict().keys() == tiny.model.state_dict().keys()
    for name, tensor in read.model.state_dict().items():
        expected = tiny.model.state_dict()[name]
        assert (tensor - expected).abs().max() <= 0.006 * expected.abs().max() + 1e-6, name
    assert models.run(read, TEXT_TYPED, HeadPlan().constant(CROSS, 0, 0)).written


def test_the_catalogue_knows_it_without_loading_it(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(checkpoint, "read_model", None)
    entry = catalogue.find(NAME)
    assert entry.kinds == tiny_pairs.make_lab("random").kinds and entry.task.name == "translation"
    assert (entry.limit, entry.trained_length, entry.selects) == (LENGTH, LENGTH, False)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_that_is_missing_is_damage(folder: Path, kind: str):
    from safetensors.torch import load_file, save_file
    tensors = load_file(folder / "constant.safetensors")
    save_file({name: tensor for name, tensor in tensors.items() if name != kind}, folder / "constant.safetensors")
    with pytest.raises(CheckpointError, match="constant"):
        models.load(NAME)


def test_a_translation_takes_little(monkeypatch: pytest.MonkeyPatch):
    """At the released size, a translation of twelve words with four candidates takes at most 300 ms on one core."""
    torch.manual_seed(0)
    config = replace(tiny_pairs.make_model("softmax").config, width=192, layers=3, heads=8)
    which = replace(tiny_pairs.make_lab(), model=Seq2Seq(config).eval().requires_grad_(False))
    prompt = TASK.read("Yesterday I wanted to buy a new car, but I had no money.")
    # random weights never generate the end token
    monkeypatch.setattr("models.generate.seq2seq_decoding.longest_of", lambda *_: 20)
    which.translate(prompt)
    times = []
    for _ in range(5):
        began = time.process_time()
        which.translate(prompt)
        times.append(time.process_time() - began)
    assert min(times) < 0.3
