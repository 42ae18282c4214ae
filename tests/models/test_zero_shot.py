"""Multiple choice and BLiMP: probabilities equal sums token by token, accuracies follow by hand, data are complete."""

import math
from collections import Counter
from dataclasses import replace

import pytest
import torch

from models.loading import own
from models.storage.datasets import DATA
from models.tasks.stories import StoriesReader
from studies.zero_shot import blimp, choices, log_probabilities
from studies.zero_shot.choices import ENDINGS, SETS, Item, encode, read_items


def test_an_endings_probability_is_the_product_of_its_tokens_given_the_context():
    """Sequences of several lengths in one batch have the same probabilities as single sequences without padding."""
    lab, tokenizer = own("stories-selective"), StoriesReader().tokenizer
    sequences = [encode(tokenizer, context, ending, 255) for context, ending in (
        ("The cat sat.", "It was happy."), ("Once upon a time there was a dragon.", "She"), ("He", "ran away, fast."))]
    sequences.append(replace(sequences[0], start=0))  # a whole text, as of BLiMP
    expected = []
    for sequence in sequences:
        logits = lab.model.logits(lab.model(torch.tensor([[0, *sequence.tokens]]))[0]).log_softmax(-1)
        expected.append([sum(float(logits[i, sequence.tokens[i]]) for i in range(sequence.start, len(sequence.tokens))),
                         len(sequence.tokens) - sequence.start])
    for batch in (64, 1):
        found = log_probabilities(lab.model, sequences, batch).tolist()
        assert found == [pytest.approx(row, abs=1e-3) for row in expected]


@pytest.mark.parametrize("context", ["The cat sat.", "a man", "Oh", "\"No!\" she said,"])
def test_the_ending_starts_at_its_own_first_token(context: str):
    tokenizer = StoriesReader().tokenizer
    sequence = encode(tokenizer, context, "walks away.", 255)
    assert tokenizer.decode(list(sequence.tokens[sequence.start:])).strip() == "walks away."
    assert tokenizer.decode(list(sequence.tokens[:sequence.start])).strip() == context


def test_a_long_context_loses_its_beginning_and_the_ending_stays_whole():
    tokenizer = StoriesReader().tokenizer
    whole = encode(tokenizer, "The cat sat. " * 100, "It was happy.", 10_000)
    cut = encode(tokenizer, "The cat sat. " * 100, "It was happy.", 20)
    assert len(cut.tokens) == 20 and cut.tokens == whole.tokens[-20:]
    assert cut.tokens[cut.start:] == whole.tokens[whole.start:]


def test_the_mean_over_tokens_decides_and_the_sum_is_stored_beside_it():
    lab = own("stories-softmax")
    items = [Item("Once upon a time, there was a little girl named Lily. She loved to play outside.",
                  ("One day, she went to the park with her mom.", "Xylophone quantum of the zzz.", "The the the the.",
                   "Purple seventeen."), label) for label in (0, 1)]
    result = choices.measure(lab.model, StoriesReader(), items)
    assert result["rights"] == "10" and result["accuracy"] == 0.5 and result["items"] == 2
    assert result["accuracy_error"] == pytest.approx(math.sqrt(0.25), abs=1e-5)


@pytest.mark.parametrize(("name", "count"), list(zip(SETS, (665, 1000), strict=True)))
def test_the_data_sets_have_four_different_endings_and_labels_of_all_kinds(name: str, count: int):
    items = read_items(DATA, name)
    assert len(items) == count
    assert all(len(set(item.endings)) == ENDINGS and item.context and all(item.endings) for item in items)
    labels = Counter(item.label for item in items)
    assert set(labels) == set(range(ENDINGS)) and max(labels.values()) < 0.32 * count


def test_the_pairs_are_evenly_of_all_paradigms():
    pairs = blimp.read_pairs(DATA, 3)
    counts = Counter(pair["paradigm"] for pair in pairs)
    assert len(counts) == 67 and set(counts.values()) == {3}
    assert len({pair["phenomenon"] for pair in pairs}) == 13
    assert all(pair["good"] != pair["bad"] for pair in pairs)
    assert len({(pair["good"], pair["bad"]) for pair in pairs}) > 190


def test_a_measure_says_which_pairs_are_right():
    lab, task = own("stories-softmax"), StoriesReader()
    pairs = [{"good": good, "bad": bad, "paradigm": paradigm, "phenomenon": "order"} for good, bad, paradigm in (
        ("Once upon a time there was a king.", "Once a upon time king there a was.", "words"),
        ("Once a upon time king there a was.", "Once upon a time there was a king.", "words"),
        ("The dog was happy.", "The dog was happy.", "same"))]
    found = blimp.measure(lab.model, task, pairs)
    assert found["rights"] == {"words": "10", "same": "0"}
    assert found["accuracy"] == 0.25 and found["by_phenomenon"] == {"order": pytest.approx(1 / 3, abs=1e-4)}


def test_the_error_is_that_of_stratified_means():
    """Two paradigms (strata) of 4 pairs: the variance is the sum of p (1 - p) / 3, divided by 2²."""
    found = blimp.accuracy({"a": [True, True, True, False], "b": [True, False, True, False]})
    assert found["accuracy"] == 0.625
    assert found["accuracy_error"] == pytest.approx(math.sqrt(0.1875 / 3 + 0.25 / 3) / 2, abs=1e-5)
