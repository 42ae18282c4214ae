"""Losses per text: their mean is the metric, their spread its error; short trainings store one metric per seed."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from statistics import fmean
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
from models.tasks.pairs import PairMetric
from models.tasks.text_scores import bleu
from models.training import sweeps, trainer
from models.training.recipes import RECIPES, SHORT, short_recipe
from models.training.sweeps import __main__ as sweep
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


def test_seeds_are_added_and_another_budget_begins_anew(tmp_path: Path):
    seeds.add("x", 300, 2, {"a": 1}, tmp_path)
    seeds.add("x", 300, 0, {"a": 2}, tmp_path)
    assert json.loads((tmp_path / "x.json").read_text()) == {
        "name": "x", "steps": 300, "metrics": {"0": {"a": 2}, "2": {"a": 1}}}
    seeds.add("x", 200, 1, {"a": 3}, tmp_path)
    assert json.loads((tmp_path / "x.json").read_text())["metrics"] == {"1": {"a": 3}}
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_seeds_that_end_at_once_are_all_kept(tmp_path: Path):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda seed: seeds.add("x", 300, seed, {"a": seed}, tmp_path), range(40)))
    assert len(json.loads((tmp_path / "x.json").read_text())["metrics"]) == 40


def test_a_short_training_leaves_numbers_and_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    name = "assignment-random"
    monkeypatch.setitem(SHORT, "assignment", 2)
    monkeypatch.setattr(seeds, "SEEDS", tmp_path / "seeds")
    monkeypatch.setattr(trainer, "finish", None)  # raises an error if it is called: no model may be written
    monkeypatch.setattr(assignment, "TEST_TEXTS", 10)
    monkeypatch.setattr("sys.argv", ["seeds", name, "--seed", "1", "--precision", "bfloat16",
                                      "--runs", str(tmp_path / "runs")])
    seeds.main()
    found = json.loads((tmp_path / "seeds" / f"{name}.json").read_text())
    assert found["steps"] == 2 and set(found["metrics"]) == {"1"}
    assert found["metrics"]["1"]["precision"] == "bfloat16"
    assert set(found["metrics"]["1"]["accuracy_by_events"]) == {"6", "12", "24"}
    recipe = RECIPES[name]
    assert found["metrics"]["1"]["learning_rate"] == recipe.learning_rate
    assert [path.name for path in (tmp_path / "runs" / name).iterdir()] == [
        f"short-{recipe.learning_rate:g}-{recipe.table_rate:g}-1"]


def test_a_full_training_has_the_steps_of_the_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    name = "assignment-random"
    monkeypatch.setitem(RECIPES, name, replace(RECIPES[name], steps=3))
    monkeypatch.setitem(SHORT, "assignment", 2)
    monkeypatch.setattr(seeds, "SEEDS", tmp_path / "seeds")
    monkeypatch.setattr(assignment, "TEST_TEXTS", 10)
    monkeypatch.setattr("sys.argv", ["seeds", name, "--seed", "1", "--full", "--precision", "float32",
                                     "--runs", str(tmp_path / "runs")])
    seeds.main()
    assert [path.name for path in (tmp_path / "seeds").iterdir()] == [seeds.FULL]
    found = json.loads((tmp_path / "seeds" / seeds.FULL / f"{name}.json").read_text())
    assert found["steps"] == 3 and found["metrics"]["1"]["device"] == "cpu"
    assert (tmp_path / "runs" / name / "seed-1" / "state.safetensors").exists()


@pytest.mark.parametrize(("name", "library"), [("translation-softmax", "sacrebleu.metrics.bleu"),
                                               ("summary-softmax", "rouge_score.rouge_scorer")])
def test_a_missing_library_is_reported_before_the_training(name: str, library: str, tmp_path: Path,
                                                           monkeypatch: pytest.MonkeyPatch,
                                                           capsys: pytest.CaptureFixture[str]):
    trained: list[object] = []
    monkeypatch.setattr(seeds, "train", lambda *arguments: trained.append(arguments))
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setattr("sys.argv", ["seeds", name, "--runs", str(tmp_path)])
    with pytest.raises(SystemExit):
        seeds.main()
    assert not trained and "pip install -r requirements-test.txt" in capsys.readouterr().err


def test_generated_texts_have_one_value_each(monkeypatch: pytest.MonkeyPatch):
    """The mean of the values per text is the score: of BLEU nearly (infinitesimal jackknife), of ROUGE-L exactly."""
    for family, key in (("translation", "sentence_bleu"), ("summary", "rouge_texts")):
        task = TASKS[family].build()
        texts, references = ([*part][:40] for part in task.corpus.test())
        right = [reference[0] for reference in references]
        monkeypatch.setattr(type(task.corpus), "test", lambda _self, pair=(texts, references): pair)
        monkeypatch.setattr(PairMetric, "translate", lambda *_arguments, given=right: given)
        values = seeds.of_generated(None, task)[key]
        assert len(values) == 40 and fmean(values) == pytest.approx(100)
        wrong = [*right[:20], *["no"] * 20]
        monkeypatch.setattr(PairMetric, "translate", lambda *_arguments, given=wrong: given)
        halved = seeds.of_generated(None, task)[key]
        assert fmean(halved) < 90 and (key == "sentence_bleu" or fmean(halved) == pytest.approx(50, abs=0.1))


def test_seeds_at_another_rate_than_the_recipe_are_left_out(tmp_path: Path):
    name = "stories-softmax"
    now = RECIPES[name].learning_rate
    table = RECIPES[name].table_rate
    for seed, its in enumerate(({}, {"learning_rate": now}, {"learning_rate": 2 * now},
                                {"learning_rate": now, "table_rate": 2 * table})):
        seeds.add(name, SHORT["stories"], seed, {"perplexity": 9.0} | its, tmp_path)
    assert set(seeds.read_seeds(name, tmp_path)) == {"0", "1"}


def test_a_second_round_is_the_short_training_of_seed_0(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The sweep's trial at the chosen rate is not trained twice."""
    name = "assignment-softmax"
    monkeypatch.setitem(SHORT, "assignment", 2)
    monkeypatch.setitem(sweeps.PLANS, "assignment", sweeps.Sweep(1, 1, (1e-3,), 2))
    monkeypatch.setattr(seeds, "SEEDS", tmp_path)
    monkeypatch.setattr(assignment, "VALIDATION_TEXTS", 5)
    monkeypatch.setattr(assignment, "TEST_TEXTS", 5)
    sweep.sweep("assignment", "softmax", tmp_path, tmp_path / "runs", torch.device("cpu"), "float32", tmp_path)
    rate = sweeps.chosen("assignment", "softmax", tmp_path)["learning_rate"]
    monkeypatch.setitem(RECIPES, name, replace(RECIPES[name], learning_rate=rate))
    monkeypatch.setattr(trainer, "update", None)  # raises an error if a step is trained
    monkeypatch.setattr("sys.argv", ["seeds", name, "--precision", "float32", "--runs",
                                     str(tmp_path / "runs")])
    seeds.main()
    assert set(seeds.read_seeds(name, tmp_path)) == {"0"}


def test_short_recipes_differ_in_steps_alone():
    for name, recipe in RECIPES.items():
        shorter = short_recipe(name)
        assert shorter.steps == SHORT[name.split("-")[0]] <= recipe.steps
        assert vars(shorter) | {"steps": 0} == vars(recipe) | {"steps": 0}
