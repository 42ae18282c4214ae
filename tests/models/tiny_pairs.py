"""Tiny encoder-decoder models of every attention type that supports them, and helpers of their tests."""

import functools

import pytest
import torch
from torch import Tensor

from models.kind import CROSS, DECODER, ENCODER
from models.labs.seq2seq import Seq2SeqLab
from models.nets.attention.base import Record
from models.nets.config import END, PADDING, START, PairConfig
from models.nets.mean_patterns import mean_pair_patterns
from models.nets.seq2seq import Seq2Seq
from models.plan import HeadPlan
from models.tasks.translation import TranslationReader

KINDS = (ENCODER, DECODER, CROSS)
LAYERS, ENCODER_LAYERS, HEADS, WIDTH, LENGTH = 2, 3, 4, 32, 64
TASK = TranslationReader()
TEXT_TYPED = "The cat is sleeping, and I am reading a book."
EXACTLY = {"rtol": 0, "atol": 0}
# attention types that an encoder-decoder supports; the others replace the MLP or depend on the number of keys
FITTING = ("softmax", "selective", "gated", "dense", "random", "fixed-random", "factorized-dense", "factorized-random",
           "random-dense", "dense-softmax", "random-softmax")
every_type = pytest.mark.parametrize("attention", FITTING)


@functools.cache
def make_model(attention: str) -> Seq2Seq:
    torch.manual_seed(0)
    config = PairConfig(attention, TASK.vocabulary, WIDTH, LAYERS, HEADS, trained_length=LENGTH,
                        encoder_layers=ENCODER_LAYERS)
    model = Seq2Seq(config, initial_std=2 * WIDTH**-0.5, embedding_std=1.0).eval().requires_grad_(False)
    for name, parameter in model.named_parameters():
        if name.endswith(("table", "positions.weight", "tiled.weight", "interleaved.weight")):
            parameter += 0.7 * torch.randn_like(parameter)  # parameters that start near 0 could hide a mistake
    return model


@functools.cache
def make_lab(attention: str = "softmax") -> Seq2SeqLab:
    model = make_model(attention)
    texts, targets = random_pairs(12, LENGTH, LENGTH, seed=5)
    return Seq2SeqLab(f"tiny-{attention}", TASK, model, mean_pair_patterns(model, texts, targets), {})


def random_pairs(count: int, text: int, target: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Returns ids of padded source texts and decoder inputs of several lengths; the first pair has no padding."""
    random = torch.Generator().manual_seed(seed)
    texts, targets = (torch.randint(3, TASK.vocabulary, (count, n), generator=random) for n in (text, target))
    for row in range(count):
        stop, end = (max(2, n - row * n // (2 * count)) for n in (text, target))
        texts[row, 0], texts[row, stop - 1], texts[row, stop:] = START, END, PADDING
        targets[row, 0], targets[row, end:] = START, PADDING
    return texts, targets


def records_of(model: Seq2Seq, texts: Tensor, targets: Tensor) -> dict[str, list[Record]]:
    records: dict[str, list[Record]] = {kind: [] for kind in KINDS}
    model(texts, targets, records=records)
    return records


def logits(which: Seq2SeqLab, text: Tensor, target: Tensor, plan: HeadPlan) -> Tensor:
    interventions = which.interventions(plan, len(text), len(target))
    return which.model.logits(which.model(text[None], target[None], interventions)[0])


def every_head(which: Seq2SeqLab) -> list[tuple[str, int, int]]:
    return [address for kind in which.kinds for address in kind.addresses]
