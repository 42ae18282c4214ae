"""Accuracies on BLiMP by hand, and the copy of BLiMP in the repository."""

import math
from collections import Counter

import pytest

from models.loading import own
from models.storage.datasets import DATA
from models.tasks.stories import StoriesReader
from studies.zero_shot.blimp import accuracy, measure, read_pairs


def test_the_pairs_are_evenly_of_all_paradigms():
    pairs = read_pairs(DATA, 3)
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
    found = measure(lab.model, task, pairs)
    assert found["rights"] == {"words": "10", "same": "0"}
    assert found["accuracy"] == 0.25 and found["by_phenomenon"] == {"order": pytest.approx(1 / 3, abs=1e-4)}


def test_the_error_is_that_of_stratified_means():
    """The standard error is that of a mean over strata, the paradigms. For two paradigms of 4 pairs the variance is the
    sum of p (1 - p) / 3, divided by 2²."""
    found = accuracy({"a": [True, True, True, False], "b": [True, False, True, False]})
    assert found["accuracy"] == 0.625
    assert found["accuracy_error"] == pytest.approx(math.sqrt(0.1875 / 3 + 0.25 / 3) / 2, abs=1e-5)
