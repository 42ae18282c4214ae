"""Short trainings store one metric per seed, and no model."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest
import torch

from models.tasks import TASKS, assignment
from models.tasks.pairs import PairMetric
from models.training import sweeps, trainer
from models.training.recipes import RECIPES, SHORT, short_recipe
from models.training.sweeps import __main__ as sweep
from studies import seeds


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
