"""Masked words, generated texts: hidden tokens, their replacements, batches of several lengths, and the metric."""

import functools
import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional
from torch.testing import assert_close

from models.generate.decoding import generator
from models.tasks import masked
from models.tasks.masked import KEPT, LENGTH, MASK_ID, MIXED, SHARE, TOKENS
from models.training.recipes import RECIPES, task_of

READER = masked.MaskedReader()
V = READER.vocabulary
Make = Callable[..., masked.MaskedCorpus]


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Make:
    """Returns a corpus on a stream that counts: token t is followed by t + 1, and no token is BOS."""
    monkeypatch.setattr(masked.MaskedCorpus, "stream", lambda *_: (torch.arange(20_000) % 4095 + 1).short())
    monkeypatch.setattr(masked, "TEST_TOKENS", 1024)
    return functools.partial(masked.MaskedCorpus, READER)


# Selection and replacement of hidden tokens.

@given(st.integers(2, 200), st.integers(1, 20), st.integers(0, 1000))
def test_the_number_of_hidden_tokens(n: int, count: int, seed: int):
    """SHARE of every row, at least one, never BOS; answers are the original tokens."""
    texts = torch.randint(1, MASK_ID, (count, n), generator=generator(seed))
    texts[:, 0] = 0
    batch = masked.hide(texts, generator(seed, 1), 0.1, 0.1)
    asked = batch.targets >= 0
    assert asked.sum(1).tolist() == [max(1, round(SHARE * n))] * count
    assert not asked[:, 0].any() and (batch.tokens[:, 0] == 0).all()
    assert_close(batch.targets[asked], texts[asked])
    assert_close(batch.tokens[~asked], texts[~asked])
    assert (batch.tokens[asked] != 0).all() and batch.tokens.max() <= MASK_ID


def test_of_ten_eight_are_hidden():
    """As in BERT, one is unchanged and one exchanged: within 5 standard deviations of 30,720 tokens."""
    texts = torch.randint(1, MASK_ID, (1024, 200), generator=generator(1))
    batch = masked.hide(texts, generator(2), 0.1, 0.1)
    asked = batch.targets >= 0
    shown, right = batch.tokens[asked], batch.targets[asked]
    count = len(right)
    for share, found in ((0.8, shown == MASK_ID), (0.1, shown == right), (0.1, (shown != right) & (shown != MASK_ID))):
        assert abs(float(found.float().mean()) - share) < 5 * (share * (1 - share) / count) ** 0.5
    exchanged = shown[(shown != right) & (shown != MASK_ID)]
    # an exchanged token is any token with equal probability
    assert exchanged.float().mean() == pytest.approx(MASK_ID / 2, rel=0.05)
    places = asked[:, 1:].float().mean(0)
    # every position is hidden with equal probability
    assert (places - 30 / 199).abs().max() < 5 * (0.15 * 0.85 / 1024) ** 0.5


# Composition of batches.

def test_batches_are_decided_by_three_numbers(counting: Make):
    task = counting()
    batch, again = task.batch(3, 10, 1), task.batch(3, 10, 1)
    assert_close((batch.tokens, batch.targets), (again.tokens, again.targets))
    assert batch.tokens.shape == batch.targets.shape == (TOKENS // LENGTH, LENGTH)
    whole = torch.where(batch.targets >= 0, batch.targets, batch.tokens)
    steps = whole[:, 1:].diff(dim=1)
    assert ((steps == 1) | (steps == -4094)).all() and (whole[:, 0] == 0).all()
    kept = ((batch.tokens == batch.targets).sum() / (batch.targets >= 0).sum()).item()
    assert abs(kept - KEPT) < 5 * (0.1 * 0.9 / 640) ** 0.5
    for other in (task.batch(4, 10, 1), task.batch(3, 10, 2)):
        assert not torch.equal(other.tokens, batch.tokens)


def test_mixed_lengths(counting: Make):
    """All lengths are about equally frequent, each step has one length, and all steps have as many tokens."""
    task = counting(lengths=MIXED)
    shapes = [tuple(task.batch(step, 400, 0).tokens.shape) for step in range(400)]
    assert {math.prod(shape) for shape in shapes} == {TOKENS}
    for length in MIXED:
        times = sum(shape[1] == length for shape in shapes)
        assert abs(times - 100) < 5 * (400 * 0.25 * 0.75) ** 0.5
    assert {shape[1] for shape in shapes} == set(MIXED)


def test_which_recipes_mix_lengths():
    for name, recipe in RECIPES.items():
        assert (len(recipe.lengths) > 1) == (name == "masked-gau-relu2-mixed")
    assert task_of("masked-gau-relu2-mixed").corpus.lengths == MIXED
    assert task_of("masked-softmax").corpus.lengths == (LENGTH,)


def test_validation_hides_as_the_measure_does(counting: Make, monkeypatch: pytest.MonkeyPatch):
    """At the family's length, the same words at every call, none exchanged."""
    monkeypatch.setattr(masked.MaskedCorpus, "validation_tokens", 2048)
    batches, again = counting(lengths=MIXED).validation(), counting().validation()
    for batch, same in zip(batches, again, strict=True):
        assert_close((batch.tokens, batch.targets), (same.tokens, same.targets))
        asked = batch.targets >= 0
        assert batch.tokens.shape[1] == LENGTH and (asked == (batch.tokens == MASK_ID)).all()
        assert (asked.sum(1) == round(SHARE * LENGTH)).all()
    assert sum(batch.tokens.numel() for batch in batches) == 2048


def test_typical_texts_fill_the_limit(counting: Make):
    texts = counting().typical(6)
    assert texts.shape == (6, READER.limit) and (texts[:, 0] == 0).all()


# Computation of the metric.

class Guess:
    """A fake Transformer: probability `p` for the number between those of the neighbours, the rest uniform."""

    def __init__(self, p: float) -> None:
        self.p = p
        self.read: list[Tensor] = []

    def __call__(self, tokens: Tensor) -> Tensor:
        self.read.append(tokens)
        n = tokens.shape[1]
        # t counts along the row, so each visible token determines all the others
        place = torch.arange(n)
        known = (tokens != MASK_ID) & (place > 0)
        first = known.int().argmax(1)
        offset = tokens.gather(1, first[:, None]) - first[:, None]
        right = (offset + place - 1) % 4095 + 1
        probabilities = torch.full((*tokens.shape, V), (1 - self.p) / (V - 1))
        return probabilities.scatter(-1, right.unsqueeze(-1), self.p).log()

    def logits(self, hidden: Tensor) -> Tensor:
        return hidden


@pytest.mark.parametrize("p", [0.25, 0.5])
def test_measure_of_a_model_that_knows(counting: Make, monkeypatch: pytest.MonkeyPatch, p: float):
    monkeypatch.setattr(masked, "TEST_LENGTHS", (32, LENGTH))
    metric = masked.MaskedMetric(counting()).evaluate(Guess(p))
    assert metric["accuracy_by_length"] == {"32": 1.0, "64": 1.0}
    for loss in metric["loss_by_length"].values():
        assert loss == pytest.approx(-math.log(p), abs=1e-3)
    assert metric["perplexity_at_trained_length"] == pytest.approx(1 / p, rel=1e-3)
    assert metric["tokens_per_length"] == 2 * 1024


def test_every_hidden_token_is_hidden_in_the_measure(counting: Make, monkeypatch: pytest.MonkeyPatch):
    """Texts and words are the same at every call, and all lengths read the same stretches whole."""
    monkeypatch.setattr(masked, "TEST_LENGTHS", (32, LENGTH))
    one, other = Guess(0.5), Guess(0.5)
    for guess in (one, other):
        masked.MaskedMetric(counting()).evaluate(guess)
    assert_close(one.read, other.read, rtol=0, atol=0)
    shares = [float((tokens == MASK_ID).float().mean()) for tokens in one.read]
    assert all(share == pytest.approx(SHARE, abs=0.04) for share in shares)
    assert {tokens.shape[1] for tokens in one.read} == {32, 64}
    for length in (32, LENGTH, 100):
        rows = counting().held_out(length)
        used = masked.STRETCH // (length - 1) * (length - 1)
        assert rows.shape == (4 * (used // (length - 1)), length) and (rows[:, 0] == 0).all()
        stream = torch.arange(20_000) % 4095 + 1
        first, last = stream[:used], stream[20_000 - masked.STRETCH:][:used]
        assert_close(rows[:, 1:].flatten(), torch.cat((first, last, first, last)))


def test_measure_of_chance(counting: Make):
    """A uniform prediction has loss ln V and the accuracy of a random guess."""
    class Same:
        def __call__(self, tokens: Tensor) -> Tensor:
            return functional.one_hot(torch.full_like(tokens, 7), V).float() * 0

        def logits(self, hidden: Tensor) -> Tensor:
            return hidden

    losses, right, stretches = masked.MaskedMetric(counting()).measure(Same(), LENGTH)
    assert losses.mean().item() == pytest.approx(math.log(V), rel=1e-5) and right.float().mean() < 0.01
    hidden = 2 * 1024 * SHARE * masked.DRAWS
    assert len(losses) == len(right) == len(stretches) == pytest.approx(hidden, abs=5 * hidden**0.5)
    assert stretches.unique().tolist() == [0, 1, 2, 3]  # two stretches of 512 tokens from each corpus


def test_the_same_tokens_are_hidden_at_every_length(counting: Make, monkeypatch: pytest.MonkeyPatch):
    """The hidden tokens have the same positions in the stretch at every length. Another draw has other positions."""
    monkeypatch.setattr(masked, "TEST_LENGTHS", (32, LENGTH, 100))
    task = counting()

    def hidden(length: int, draw: int) -> set[int]:
        places = task.hidden(length, draw)
        assert not places[:, 0].any()
        stretches = places[:, 1:].unflatten(0, (4, -1)).flatten(1)
        return {int(i) + 5000 * number for number, its in enumerate(stretches) for i in its.nonzero()}

    assert hidden(32, 0) == hidden(LENGTH, 0) == hidden(100, 0) != hidden(32, 1)
    both = hidden(32, 0) & hidden(32, 1)
    assert len(both) == pytest.approx(2 * 1024 * SHARE**2, abs=5 * (2 * 1024 * SHARE**2) ** 0.5)
