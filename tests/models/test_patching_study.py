"""The study of the heads that patching finds: its pairs of prompts, pruning by hand, and its stored numbers."""

import argparse
import itertools
from pathlib import Path

import pytest

import models
from models.analysis.answer.head_patching import patching_of
from models.lab import read
from models.plan import HeadPlan
from models.storage.datasets import DATA
from models.training.recipes import task_of
from studies import store
from studies.corpus import patching

STUDIES = Path(__file__).resolve().parents[2] / "docs" / "studies.md"
MEASURED = ("assignment-softmax", "assignment-selective", "translation-softmax")


def test_assignments_differ_in_the_latest_value_of_the_variable():
    for first, second in itertools.islice(patching.assignment_pairs(3), 50):
        values = [dict(event.split("=") for event in text.split("; ")[:-1]) for text in (first, second)]
        asked = first.split("; ")[-1].removesuffix("=?")
        assert values[0][asked] != values[1][asked]
        assert sum(one != other for one, other in zip(first.split("; "), second.split("; "), strict=True)) == 1


def test_sentences_differ_in_one_word():
    pairs = list(patching.sentence_pairs(["He is my dog.", "I see a man.", "Nothing.", "A big car."], 0))
    assert pairs == [("I see a man.", "I see a woman.")]  # the other sentences have two such words or none


def test_removal_by_hand():
    lab = models.load("assignment-softmax")
    task = task_of(lab.name, DATA, Path("runs"))
    found = patching.measure(lab, task, argparse.Namespace(texts=3))
    usable = []
    for text, second in patching.assignment_pairs(patching.SEED):
        try:
            usable.append((text, patching_of(lab, read(lab, text, second))))
        except ValueError:
            continue
        if len(usable) == 6:
            break
    plan = HeadPlan()
    for kind, layer, head, share in found["named"]:
        mean = sum(float(result.restored[kind][layer, head]) for _, result in usable[:3]) / 3
        assert mean == pytest.approx(share, abs=1e-3) and mean >= patching.NAMED
        plan = plan.gate(kind, layer, head, 0.0)
    kept = [models.run(lab, text, plan).output.labels[0] == models.run(lab, text).output.labels[0]
            for text, _ in usable[3:]]
    assert found["without_named"] == pytest.approx(sum(kept) / 3)
    assert found["unmodified"] == 1 and len(found["without_random"]) == patching.DRAWS


@pytest.mark.parametrize("name", MEASURED)
def test_stored_numbers_follow_the_rule_and_are_in_the_document(name: str):
    found = store.read(name, "patching")
    assert found is not None and found["texts"] == 200
    assert found["necessary"] == patching.necessary(found["without_named"], found["without_random"], found["texts"])
    assert found["without_random_mean"] == pytest.approx(
        sum(found["without_random"]) / len(found["without_random"]), abs=1e-4)
    cells = (f"`{name}`", f"{len(found['named'])} of {found['heads']}", f"{100 * found['without_named']:.1f}%",
             f"{100 * found['without_random_mean']:.1f}%", f"{100 * min(found['without_random']):.1f}%",
             found["necessary"])
    assert f"| {' | '.join(cells)} |" in STUDIES.read_text("utf-8")


@pytest.mark.parametrize(("without", "least", "word"), [
    (0.37, 0.835, "yes"), (0.475, 0.9, "not decided"), (0.53, 0.9, "not decided"), (0.705, 0.9, "no"),
    (0.2, 0.5, "no")])
def test_heads_are_necessary_only_beyond_the_error(without: float, least: float, word: str):
    assert patching.necessary(without, [least, 0.95], 200) == word
