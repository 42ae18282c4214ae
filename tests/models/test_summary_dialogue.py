"""Summary and Dialogue: splits, cutting of texts, metrics, and models whose text and target limits differ."""

import functools

import numpy
import pytest
import torch
from tiny_pairs import KINDS
from torch.testing import assert_close

import models
from models.errors import InputError
from models.labs.seq2seq import Seq2SeqLab
from models.nets.config import END, START, PairConfig
from models.nets.seq2seq import Seq2Seq
from models.prompt import unix_lines
from models.storage import checkpoint
from models.tasks import TASKS
from models.tasks.base import Task
from models.tasks.text_scores import bleu_of_order, rouge
from models.training import cards
from models.training.recipes import RECIPES

SUMMARY_TASK, DIALOGUE_TASK = TASKS["summary"].build(), TASKS["dialogue"].build()
SUMMARY, DIALOGUE = SUMMARY_TASK.reader, DIALOGUE_TASK.reader
BOTH = pytest.mark.parametrize("task", [SUMMARY_TASK, DIALOGUE_TASK], ids=["summary", "dialogue"])
PROFILE = "I am a cook. I have two dogs."


# Reading of input texts.

def test_bars_are_cleaned():
    assert DIALOGUE.clean(f"|{PROFILE}|Hi!||  |How are you? |") == f"{PROFILE} | Hi! | How are you?"
    for text in ("|", " | || "):
        with pytest.raises(InputError, match="profile"):
            DIALOGUE.read(text)


def test_a_long_report_ends_early():
    text = "The airplane veered off the runway. " * 60
    prompt = SUMMARY.read(text)
    assert len(prompt.ids) == 224 and prompt.ids[-1] == END and prompt.omitted > 100
    whole = SUMMARY.read(text[:prompt.read_chars])
    assert whole.ids[:-1] == prompt.ids[:len(whole.ids) - 1] and len(whole.ids) >= 222


def test_of_a_long_conversation_the_oldest_turns_are_left_out():
    """All characters count as read, so the link of the page contains the whole text."""
    turns = [f"This is turn {i} of a long conversation." for i in range(40)]
    text = " | ".join((PROFILE, *turns))
    prompt = DIALOGUE.read(text)
    read = DIALOGUE.written(prompt.ids).split(" | ")
    assert read[0] == PROFILE and 4 < len(read) - 1 < 40 and read[1:] == turns[-(len(read) - 1):]
    assert len(prompt.ids) <= 96 and prompt.read_chars == len(unix_lines(text))
    one_more = DIALOGUE.tokenizer.encode(" | ".join((PROFILE, *turns[-len(read):])), add_special_tokens=False).ids
    assert len(one_more) + 2 > 96 and prompt.omitted + len(prompt.ids) - 2 == len(
        DIALOGUE.tokenizer.encode(text, add_special_tokens=False).ids)
    alone = DIALOGUE.read("I like to read. " * 60)  # a text without turns is cut at its end
    assert len(alone.ids) == 96 and alone.omitted > 0


# Data sets.

@pytest.mark.parametrize(("task", "counts"), [
    (SUMMARY_TASK, (18_866, 1500, 1500)), (DIALOGUE_TASK, (30_421, 10_424, 2731))], ids=["summary", "dialogue"])
def test_splits(task: Task, counts: tuple[int, int, int]):
    """The splits have the numbers of pairs stated in SOURCE.txt. No text of validation or test is in training."""
    train, validation, test = (task.corpus.pairs(split) for split in ("train", "validation", "test"))
    assert (len(train), len(validation), len(test)) == counts
    texts = {text for text, _ in train}
    assert not texts & {text for text, _ in validation + test}
    assert all(task.reader.clean(text) == text and target for text, target in test)


def test_a_reply_follows_its_turns():
    """The profile belongs to the person who replies. The last turn before the reply is the other person's."""
    first, second = DIALOGUE_TASK.corpus.pairs("train")[:2]
    one, two = (text.split(" | ") for text, _ in (first, second))
    assert one[0].endswith("My favorite ice cream flavor is chocolate.") and two[0].endswith("I am 100 years old.")
    assert one[1:] == ["Hi there!"] and first[1] == "Hello!" and two[1:] == [one[1], first[1]]
    assert second[1] == "How are you?" or second[1] == "How old are you?"


def test_replies_are_counted_per_conversation():
    """The test texts of one conversation are adjacent: each continues the text before by one turn."""
    counts, (texts, _) = DIALOGUE_TASK.corpus.replies_per_conversation(), DIALOGUE_TASK.corpus.test()
    assert sum(counts) == len(texts)
    first = texts[:counts[0]]
    assert [text.count(" | ") for text in first] == list(range(1, counts[0] + 1))
    assert texts[counts[0]].count(" | ") == 1


@BOTH
def test_pairs_of_every_shape(task: Task):
    """Each pair is in the first shape that is large enough; a target over the limit is left out."""
    corpus, reader = task.corpus, task.reader
    pairs = corpus.pairs("test")
    buckets = corpus.buckets(pairs)
    kept = sum(map(len, buckets))
    assert 0.95 * len(pairs) < kept <= len(pairs) and all(map(len, buckets))
    targets = {target for _, target in pairs}
    for (text_length, target_length), bucket in zip(corpus.shapes, buckets, strict=True):
        assert bucket.shape[1] == text_length + target_length
        texts, ends = bucket[:, :text_length], bucket[:, text_length:]
        assert (texts[:, 0] == START).all() and ((texts == END).sum(1) == 1).all() and ((ends == END).sum(1) == 1).all()
        assert {reader.written(row) for row in ends[:20].tolist()} <= targets
    assert corpus.shapes[-1] == (reader.limit, reader.target_limit)


# The metrics.

def test_rouge_by_hand():
    """ROUGE is the F1 of unigrams, bigrams and the longest common subsequence, for the better of two references."""
    found = rouge(["the dog sat on a mat"], [["the cat sat on the mat"]])
    assert found == {"rouge1": 66.67, "rouge2": 20.0, "rougeL": 66.67}
    assert rouge(["The dog, sat."], [["a bird", "the dog sat"]]) == dict.fromkeys(found, 100.0)
    assert rouge(["one", "two"], [["one"], ["three"]])["rouge1"] == 50.0


def test_bleu_of_one_gram_is_precision():
    assert bleu_of_order(["a b c d e"], [["a b c x y"]], 1) == pytest.approx(60.0)
    assert bleu_of_order(["a b c d"], [["a b c d"]], 4) == pytest.approx(100.0)


@pytest.mark.parametrize(("task", "names"), [
    (SUMMARY_TASK, ["rouge1", "rouge2", "rougeL"]), (DIALOGUE_TASK, ["bleu1", "bleu4", "rouge1", "rouge2", "rougeL"])],
    ids=["summary", "dialogue"])
def test_metric(task: Task, names: list[str], monkeypatch: pytest.MonkeyPatch):
    """The metric uses the test texts with and without beam search, and its description names the baseline."""
    pairs = [("a", "The pilot landed too hard today."), ("b", "No.")]
    monkeypatch.setattr(type(task.corpus), "pairs", lambda *_: pairs)
    answers = {4: "The pilot landed too hard today.", 1: "No."}
    monkeypatch.setattr(type(task.metric), "translate", lambda _, model, texts, beam=4: [answers[beam]] * len(texts))
    metric = task.metric.evaluate(None)
    assert [key for key in metric if not key.endswith("_greedy")][:len(names)] == names
    assert metric["rougeL"] == metric["rougeL_greedy"] == 50.0 and metric["texts"] == 2 and metric["beam"] == 4
    assert str(metric[names[0]]) in task.metric.describe(metric)


# Models whose text and target have different lengths.

@functools.cache
def tiny_lab(family: str, attention: str) -> Seq2SeqLab:
    reader = SUMMARY if family == "summary" else DIALOGUE
    torch.manual_seed(0)
    config = PairConfig(attention, reader.vocabulary, 32, 1, 4, trained_length=reader.trained_length, encoder_layers=1,
                        target_length=reader.target_limit)
    model = Seq2Seq(config, initial_std=0.3, embedding_std=1.0).eval().requires_grad_(False)
    constant = {"encoder": (reader.limit, reader.limit), "decoder": (reader.target_limit, reader.target_limit),
                "cross": (reader.target_limit, reader.limit)}
    random = {kind: torch.rand(1, 4, *size, generator=torch.Generator().manual_seed(1)) for kind, size in
              constant.items()}
    random["decoder"] = random["decoder"].tril()
    return Seq2SeqLab(f"{family}-tiny", reader, model,
                      {kind: its / its.sum(-1, keepdim=True) for kind, its in random.items()}, {})


@pytest.mark.parametrize("family", ["summary", "dialogue"])
@pytest.mark.parametrize("attention", ["softmax", "random", "dense", "dense-softmax", "random-softmax"])
def test_plans_on_all_three_blocks(family: str, attention: str):
    """A text and a target of maximum length run with every head constant."""
    lab = tiny_lab(family, attention)
    text = "The pilot landed. | How are you? | " * 40
    every = models.HeadPlan().with_heads([head for kind in lab.kinds for head in kind.addresses], constant=True)
    trace = models.run(lab, text, every)
    length, written = len(trace.tokens), len(trace.rows["target"])
    assert lab.limit - 12 < length <= lab.limit == lab.task.limit and written <= lab.target_limit
    sizes = {"encoder": (length, length), "decoder": (written, written), "cross": (written, length)}
    for kind in KINDS:
        assert trace.weights[kind].shape[2:] == sizes[kind]
        assert_close(torch.tensor(trace.weights[kind]).sum(-1), torch.ones(1, 4, sizes[kind][0]))
    assert_close(torch.tensor(trace.weights["cross"][0]), torch.nn.functional.normalize(
        lab.constant["cross"][0][:, :written, :length], p=1, dim=-1))
    gated = models.run(lab, text, models.HeadPlan().gate("cross", 0, 1, 0.0))
    assert not numpy.array_equal(gated.output.distribution, models.run(lab, text).output.distribution)


@pytest.mark.parametrize("attention", ["softmax", "random"])
def test_a_folder_of_a_model_with_two_lengths(attention: str, tmp_path, monkeypatch: pytest.MonkeyPatch):
    """Constant matrices are written and read. The matrices of the decoder are smaller than those of the encoder."""
    lab = tiny_lab("summary", attention)
    monkeypatch.setattr(cards, "CONSTANT_PAIRS", 24)
    constant = cards.constants_of(lab.model, SUMMARY_TASK)
    assert {kind: tuple(its.shape[2:]) for kind, its in constant.items()} == \
        {"encoder": (224, 224), "decoder": (48, 48), "cross": (48, 224)}
    checkpoint.write(tmp_path, lab.model, constant)
    config = checkpoint.read_config(tmp_path)
    assert config == lab.model.config
    read = checkpoint.read_constant(tmp_path, config, SUMMARY.limit, SUMMARY.target_limit)
    for kind, its in constant.items():
        assert_close(read[kind], its, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("family", ["summary", "dialogue"])
def test_recipes(family: str):
    """The recipes are the five rows of the source's table, and they differ only in attention."""
    names = [name for name in RECIPES if name.startswith(f"{family}-")]
    assert [name.removeprefix(f"{family}-") for name in names] == \
        ["softmax", "random", "dense", "dense-softmax", "random-softmax"]
    reader = SUMMARY if family == "summary" else DIALOGUE
    for name in names:
        config = RECIPES[name].config
        assert isinstance(config, PairConfig) and config.vocabulary == reader.vocabulary
        assert reader.tokenizer.get_vocab_size() == reader.vocabulary
        assert (config.trained_length, config.target_length) == (reader.trained_length, reader.target_limit)
        assert vars(RECIPES[name]) | {"config": 0} == vars(RECIPES[names[0]]) | {"config": 0}
