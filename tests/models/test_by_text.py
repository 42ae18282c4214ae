"""Tests of per-text losses: their mean is the reported metric, and their spread gives its standard error."""

from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sacrebleu.metrics.bleu import BLEU

from models.nets.config import Config
from models.nets.transformer import Transformer
from models.storage.checkpoint import read_json, write_json
from models.tasks import TASKS, assignment, masked
from models.tasks.assignment import ALL, ELSEWHERE, LATE
from models.tasks.masked import MaskedCorpus, MaskedReader
from models.tasks.text_scores import bleu
from studies import per_text, seeds
from studies.generated import sentences
from studies.per_text import error

WORDS = ("the", "cat", "sat", "on", "a", "mat", "and", "slept", "there", "long")


def made(count: int, noise: float, more: str = "") -> tuple[list[str], list[list[str]]]:
    """Returns translations and two references: the text itself, words exchanged, one cut off, `more` appended."""
    random = numpy.random.default_rng(3)
    texts = [list(random.choice(WORDS, random.integers(5, 14))) for _ in range(count)]
    found = [[random.choice(WORDS) if random.random() < noise else word for word in text] for text in texts]
    return [" ".join(its[:-1]) + more for its in found], [[" ".join(text), " ".join(text[::-1])] for text in texts]


@pytest.mark.parametrize("noise", [0.02, 0.3])
@pytest.mark.parametrize("more", ["", " long long"])
def test_sentences_have_the_corpus_score_as_their_mean(noise: float, more: str):
    """The mean over sentences is the corpus BLEU, if translations are too short (brevity penalty) or too long."""
    found, references = made(200, noise, more)
    values = sentences.values_of(*sentences.counts_of(found, references))
    assert values.mean() == pytest.approx(bleu(found, references)[0], abs=1e-9)


@pytest.mark.parametrize("more", ["", " long long"])
def test_a_sentence_s_influence_is_a_derivative_of_bleu(more: str):
    """The derivative by the weight of the sentence is estimated by one millionth more weight."""
    lengths, references, right, possible = sentences.counts_of(*made(30, 0.2, more))
    assert (lengths.sum() < references.sum()) == (not more)

    def score(weights: numpy.ndarray) -> float:
        length, reference = weights @ lengths, weights @ references
        precision = numpy.log((weights @ right) / (weights @ possible)).mean()
        return 100 * numpy.exp(precision + min(0, 1 - reference / length))

    whole = score(numpy.ones(30))
    slopes = [(score(numpy.ones(30) + 1e-6 * row) - whole) / 1e-6 for row in numpy.eye(30)]
    assert sentences.values_of(lengths, references, right, possible) == pytest.approx(whole + 30 * numpy.array(slopes),
                                                                                       abs=1e-2)


def test_the_standard_error_agrees_with_the_bootstrap():
    """The standard error agrees with sacrebleu's bootstrap, whose 95% interval has half-width 1.96 standard errors."""
    found, references = made(400, 0.15)
    values = sentences.values_of(*sentences.counts_of(found, references))
    streams = [[its[i] for its in references] for i in (0, 1)]
    theirs = BLEU(references=streams).corpus_score(found, None, n_bootstrap=2000)
    assert error(values) == pytest.approx(theirs._ci / 1.96, rel=0.1)


def test_sentences_whose_translation_is_in_training_are_counted():
    """They exist, because pairs are assigned to splits by the English sentence only."""
    corpus = TASKS["translation"].build().corpus
    _texts, references = corpus.test()
    known = sentences.known_in_training(corpus, references)
    assert (sum(known), len(known)) == (253, 2000)
    method = (Path(__file__).parents[2] / "docs" / "method.md").read_text()
    assert f"{sum(known)} of the {len(known):,} test sentences" in method


def test_a_score_of_nothing_has_no_sentences():
    with pytest.raises(ValueError, match="BLEU is 0"):
        sentences.values_of(*sentences.counts_of(["cat dog"], [["mouse"]]))


@given(st.integers(2, 200).flatmap(lambda count: st.tuples(
    arrays(bool, count), arrays(int, count, elements=st.integers(0, 7)))))
def test_shares_of_texts_have_the_share_of_all_as_their_mean(drawn: tuple[numpy.ndarray, numpy.ndarray]):
    right, whose = map(torch.tensor, drawn)
    whose[0], whose[-1] = 0, 1  # both texts must have at least one token each
    found = per_text.shares(per_text.counted(right, whose))
    assert (found.values * found.counts).sum() / found.counts.sum() == pytest.approx(float(right.float().mean()))
    again = per_text.shares(per_text.counted(~right, whose))
    assert found.of_the_same(again)
    assert (found.values + again.values)[found.counts > 0] == pytest.approx(1.0)


def test_answers_to_assignments_are_those_of_the_metric(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(assignment, "TEST_TEXTS", 100)
    torch.manual_seed(0)
    model = Transformer(Config("softmax", vocabulary=64, width=16, layers=1, heads=2, trained_length=49))
    metric = seeds.measured(model, TASKS["assignment"].build())
    for among, key in ((ALL, "accuracy_by_events"), (ELSEWHERE, "elsewhere_by_events")):
        for events, share in metric[key].items():
            found = per_text.answers(int(events), among)(metric)
            assert numpy.average(found.values, weights=found.counts) == pytest.approx(share, abs=1e-4)
            assert len(found.values) == assignment.GROUPS
    late = per_text.answers(96, LATE)(metric)
    assert numpy.average(late.values, weights=late.counts) == pytest.approx(metric["accuracy_by_quarter"]["96"][-1],
                                                                            abs=1e-4)


def test_what_no_metric_has_is_missing():
    for read in (per_text.losses, per_text.sentences, per_text.guesses(64), per_text.guesses(64, "fixed"),
                 per_text.answers(24, ALL)):
        with pytest.raises(KeyError):
            read({})


def test_a_list_of_numbers_takes_one_line(tmp_path: Path):
    value = {"a [\n 1": ["x [1, 2]", "y"], "b": [1, -2.5e-7, None, True], "c": [[1, 2], []], "d": {"e": [3]}}
    write_json(tmp_path / "it.json", value)
    assert read_json(tmp_path / "it.json") == value
    text = (tmp_path / "it.json").read_text()
    assert '"b": [1, -2.5e-07, null, true],\n' in text and "[1, 2],\n" in text and '"e": [3]\n' in text


def measured_masked(attention: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Returns the metric of a small random model of masked words at the lengths 64 and 128."""
    monkeypatch.setattr(masked, "TEST_TOKENS", 2048)
    monkeypatch.setattr(masked, "TEST_LENGTHS", (64, 128))
    monkeypatch.setattr(MaskedCorpus, "stream", lambda self, corpus, split: torch.arange(4000) % 4095 + 1)
    torch.manual_seed(0)
    model = Transformer(Config(attention, vocabulary=MaskedReader.vocabulary, width=16, layers=1, heads=1,
                               causal=False, trained_length=64))
    for parameter in model.parameters():
        parameter.data.normal_()  # makes rows non-uniform, because scaling by log n does not change uniform rows
    return seeds.measured(model, TASKS["masked"].build())


def test_guesses_of_hidden_tokens_are_those_of_the_metric(monkeypatch: pytest.MonkeyPatch):
    """With the trained inference setting and with another one."""
    metric = measured_masked("gau-relu2", monkeypatch)
    for length in (64, 128):
        for policy, share in (("", metric["accuracy_by_length"][str(length)]),
                              *((policy, metric["readings"][policy][str(length)]["accuracy"])
                                for policy in seeds.READINGS["gau-relu2"])):
            found = per_text.guesses(length, policy)(metric)
            assert numpy.average(found.values, weights=found.counts) == pytest.approx(share, abs=1e-4)
            assert len(found.values) == 2 * 2048 // masked.STRETCH


def test_log_n_changes_nothing_at_the_trained_length(monkeypatch: pytest.MonkeyPatch):
    metric = measured_masked("gau-softmax", monkeypatch)
    read = metric["readings"]["logn"]
    assert read["64"]["loss"] == metric["loss_by_length"]["64"]
    assert read["128"]["loss"] != metric["loss_by_length"]["128"]
