"""What single texts came to: its mean is the number that is reported, and its spread what other texts would change.

    pytest tests/models/test_by_text.py
"""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sacrebleu.metrics.bleu import BLEU

from models.checkpoint import read_json, write_json
from models.config import Config
from models.studies import by_text, seeds, sentences
from models.studies.bootstrap import error
from models.tasks import assignment
from models.tasks.assignment import ALL, ELSEWHERE, LATE, Assignment
from models.tasks.translation import bleu
from models.transformer import Transformer

WORDS = ("the", "cat", "sat", "on", "a", "mat", "and", "slept", "there", "long")


def made(count: int, noise: float) -> tuple[list[str], list[list[str]]]:
    """Translations, and two references each, of which the first is the translation but for some words."""
    random = numpy.random.default_rng(3)
    texts = [list(random.choice(WORDS, random.integers(5, 14))) for _ in range(count)]
    found = [[random.choice(WORDS) if random.random() < noise else word for word in text] for text in texts]
    return [" ".join(its[:-1]) for its in found], [[" ".join(text), " ".join(text[::-1])] for text in texts]


@pytest.mark.parametrize("noise", [0.02, 0.3])
def test_sentences_have_the_corpus_score_as_their_mean(noise: float):
    """Translations that are too short, so that brevity has its part."""
    found, references = made(200, noise)
    values = sentences.values_of(*sentences.counts_of(found, references))
    assert values.mean() == pytest.approx(bleu(found, references)[0], abs=1e-9)


def test_their_spread_is_what_other_sentences_change():
    """Against sacrebleu's own bootstrap, half of whose interval of 95% is 1.96 standard errors."""
    found, references = made(400, 0.15)
    values = sentences.values_of(*sentences.counts_of(found, references))
    streams = [[its[i] for its in references] for i in (0, 1)]
    theirs = BLEU(references=streams).corpus_score(found, None, n_bootstrap=2000)
    assert error(values) == pytest.approx(theirs._ci / 1.96, rel=0.1)


def test_a_score_of_nothing_has_no_sentences():
    with pytest.raises(ValueError, match="BLEU is 0"):
        sentences.values_of(*sentences.counts_of(["cat dog"], [["mouse"]]))


@given(st.integers(1, 200).flatmap(lambda count: st.tuples(
    arrays(bool, count), arrays(int, count, elements=st.integers(0, 7)))))
def test_shares_of_texts_have_the_share_of_all_as_their_mean(drawn: tuple[numpy.ndarray, numpy.ndarray]):
    right, whose = map(torch.tensor, drawn)
    found = by_text.shares(by_text.counted(right, whose))
    assert (found.values * found.counts).sum() / found.counts.sum() == pytest.approx(float(right.float().mean()))
    assert found.of_the_same(by_text.shares(by_text.counted(~right, whose)))


def test_answers_to_assignments_are_those_of_the_metric(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(assignment, "TEST_TEXTS", 100)
    torch.manual_seed(0)
    model = Transformer(Config("softmax", vocabulary=64, width=16, layers=1, heads=2, trained_length=49))
    metric = seeds.measured(model, Assignment())
    for among, key in ((ALL, "accuracy_by_events"), (ELSEWHERE, "elsewhere_by_events")):
        for events, share in metric[key].items():
            found = by_text.answers(int(events), among)(metric)
            assert numpy.average(found.values, weights=found.counts) == pytest.approx(share, abs=1e-4)
            assert len(found.values) == assignment.GROUPS
    late = by_text.answers(96, LATE)(metric)
    assert numpy.average(late.values, weights=late.counts) == pytest.approx(metric["accuracy_by_quarter"]["96"][-1],
                                                                            abs=1e-4)


def test_what_no_metric_has_is_missing():
    for read in (by_text.losses, by_text.sentences, by_text.guesses(64), by_text.guesses(64, "fixed"),
                 by_text.answers(24, ALL)):
        with pytest.raises(KeyError):
            read({})


def test_a_list_of_numbers_takes_one_line(tmp_path: Path):
    value = {"a [\n 1": ["x [1, 2]", "y"], "b": [1, -2.5e-7, None, True], "c": [[1, 2], []], "d": {"e": [3]}}
    write_json(tmp_path / "it.json", value)
    assert read_json(tmp_path / "it.json") == value
    text = (tmp_path / "it.json").read_text()
    assert '"b": [1, -2.5e-07, null, true],\n' in text and "[1, 2],\n" in text and '"e": [3]\n' in text
