"""Learning-rate sweeps try every type at the same rates, resume, and set the recipes' rates; jobs in processes."""

import argparse
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from models.tasks import TASKS, assignment
from models.training import recipes, sweeps
from models.training.executor import add_processes_option, on_one_thread, progress, run_jobs
from models.training.recipes import RECIPES, SHORT
from models.training.sweeps import __main__ as sweep
from models.training.trainer import train, validation_loss

RATES = sweeps.PLANS["stories"].rates


def trial(attention: str, rate: float, loss: float, table_rate: float = 10.0) -> dict:
    return {"attention": attention, "learning_rate": rate, "table_rate": table_rate, "loss": loss}


@pytest.mark.parametrize("losses", [(3.0, 2.0, 4.0), (1.0, 2.0, 4.0), (3.0, 3.0, 2.5)])
def test_the_lowest_loss_wins(losses: tuple[float, ...], tmp_path: Path):
    for rate, loss in zip(RATES, losses, strict=True):
        sweeps.add("stories", trial("softmax", rate, loss), tmp_path)
        sweeps.add("stories", trial("selective", rate, -loss), tmp_path)  # trials of another type are ignored
    best = RATES[losses.index(min(losses))]
    assert sweeps.chosen("stories", "softmax", tmp_path) == {"learning_rate": best, "table_rate": 10.0}


def test_table_rates_are_compared_at_the_best_rate(tmp_path: Path):
    for rate, loss in zip(RATES, (3.0, 2.0, 4.0), strict=True):
        sweeps.add("stories", trial("random", rate, loss), tmp_path)
    sweeps.add("stories", trial("random", RATES[1], 1.0, 3.0), tmp_path)
    assert sweeps.chosen("stories", "random", tmp_path) == {"learning_rate": RATES[1], "table_rate": 10.0}
    sweeps.add("stories", trial("random", RATES[1], 1.5, 30.0), tmp_path)
    assert sweeps.chosen("stories", "random", tmp_path) == {"learning_rate": RATES[1], "table_rate": 3.0}
    # a trial at another rate than the best one is ignored
    sweeps.add("stories", trial("random", RATES[0], 0.5, 30.0), tmp_path)
    assert sweeps.chosen("stories", "random", tmp_path)["table_rate"] == 3.0


@pytest.mark.parametrize(("longer", "best", "next_one"), [
    ({}, RATES[2], RATES[2]), ({RATES[2]: 3.6}, RATES[2], RATES[1]),
    ({RATES[2]: 3.6, RATES[1]: 3.7}, RATES[2], None),  # the lower rate is worse, so the second round is finished
    # the first round's result holds until the second round is finished
    ({RATES[2]: 3.6, RATES[1]: 3.5}, RATES[2], RATES[0]),
    ({RATES[2]: 3.6, RATES[1]: 3.5, RATES[0]: 3.55}, RATES[1], None),
    ({RATES[2]: 3.6, RATES[1]: 3.5, RATES[0]: 3.4}, RATES[2], RATES[0] / 2),  # a rate below the first round's
    ({RATES[2]: 3.6, RATES[1]: 3.5, RATES[0]: 3.4, RATES[0] / 2: 3.41}, RATES[0], None)])
def test_a_second_round_goes_on_while_the_loss_improves(longer: dict[float, float], best: float, next_one: float | None,
                                                       tmp_path: Path):
    plan = sweeps.PLANS["stories"]
    for rate, loss in zip(RATES, (5.0, 4.9, 4.8), strict=True):
        sweeps.add("stories", trial("softmax", rate, loss), tmp_path)
    for rate, loss in longer.items():
        sweeps.add("stories", trial("softmax", rate, loss) | {"steps": plan.second}, tmp_path)
        # a trial with another number of steps is ignored
        sweeps.add("stories", trial("softmax", rate, -loss) | {"steps": 7}, tmp_path)
    assert sweeps.chosen("stories", "softmax", tmp_path)["learning_rate"] == best
    asked, is_over = sweeps.second_round(sweeps.read("stories", tmp_path), "softmax", plan, RATES[2])
    assert (asked, is_over) == ((best, True) if next_one is None else (next_one, False))


def test_which_families_have_second_rounds_and_which_types_tables():
    assert {family: plan.second for family, plan in sweeps.PLANS.items() if plan.second} == {
        family: SHORT[family] for family in ("stories", "masked")}
    having = {name for name in sweep.types_of("stories") if sweep.has_tables(RECIPES[f"stories-{name}"])}
    assert having == {"dense", "random", "factorized-dense", "factorized-random", "random-dense", "dense-softmax",
                      "random-softmax"}


def test_nothing_is_chosen_before_all_rates_were_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Trials with another number of steps do not count."""
    for rate in RATES[:2]:
        sweeps.add("stories", trial("softmax", rate, 1.0), tmp_path)
    assert sweeps.chosen("stories", "softmax", tmp_path) == {} == sweeps.chosen("stories", "log-n", tmp_path)
    sweeps.add("stories", trial("softmax", RATES[2], 1.0), tmp_path)
    assert sweeps.chosen("stories", "softmax", tmp_path)
    monkeypatch.setitem(sweeps.PLANS, "stories", replace(sweeps.PLANS["stories"], steps=7))
    assert sweeps.chosen("stories", "softmax", tmp_path) == {}


def test_processes_add_to_one_table(tmp_path: Path):
    """A repeated trial replaces the earlier one."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: sweeps.add("stories", trial(f"type-{i:02}", 0.1, i), tmp_path), range(40)))
    sweeps.add("stories", trial("type-07", 0.1, 99.0), tmp_path)
    trials = sweeps.read("stories", tmp_path)
    assert [t["attention"] for t in trials] == [f"type-{i:02}" for i in range(40)]
    assert trials[7]["loss"] == 99.0
    json.loads((tmp_path / "stories.json").read_text())


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_take_what_the_tables_say(name: str):
    """A variant of an attention type uses the rates of this type until it has a sweep."""
    recipe, (family, _, own) = RECIPES[name], name.partition("-")
    for key, value in (sweeps.chosen(family, recipe.config.attention) | sweeps.chosen(family, own)).items():
        assert getattr(recipe, key) == value
    assert sweep.trial_recipe(family, recipe.config.attention, 1.0, 2.0).config.attention == recipe.config.attention


@pytest.mark.parametrize("family", recipes.VARIANTS)
def test_every_type_of_a_family_is_tried(family: str):
    types = sweep.types_of(family)
    assert len(types) == len(set(types))
    assert set(types) == {recipe.config.attention for name, recipe in RECIPES.items() if name.startswith(f"{family}-")}


@pytest.mark.parametrize("attention, trials, second", [("softmax", 3, 0), ("random", 5, 0), ("softmax", 3, 3)])
def test_a_sweep_goes_on_where_it_stopped(attention: str, trials: int, second: int, tmp_path: Path,
                                          monkeypatch: pytest.MonkeyPatch):
    """Each trial is stored once, evaluated on the validation sample after the planned steps."""
    monkeypatch.setitem(sweeps.PLANS, "assignment", sweeps.Sweep(2, 1, (1e-3, 2e-3, 4e-3), second))
    monkeypatch.setitem(recipes.SHORT, "assignment", second)
    monkeypatch.setattr(assignment, "VALIDATION_TEXTS", 5)
    trained = []

    def counted(recipe, task, place, *arguments):
        trained.append((recipe.learning_rate, recipe.table_rate, recipe.steps, recipe.warmup))
        if len(trained) == 2:
            raise KeyboardInterrupt
        return train(recipe, task, place, *arguments)

    monkeypatch.setattr(sweep, "train", counted)
    options = ("assignment", attention, None, tmp_path / "runs", torch.device("cpu"), "float32", tmp_path)
    with pytest.raises(KeyboardInterrupt):
        sweep.sweep(*options)
    sweep.sweep(*options)
    sweep.sweep(*options)
    found = sweeps.read("assignment", tmp_path)
    longer = {steps for _, _, steps, _ in trained} - {2}
    assert longer == ({second} if second else set())
    assert len(trained) == len(found) + 1 and len(set(trained)) == len(found)
    assert len([t for t in found if "steps" not in t]) == trials
    warmup = recipes.RECIPES["assignment-softmax"].warmup
    assert {(t["learning_rate"], t["table_rate"], *((t["steps"], warmup) if "steps" in t else (2, 1)))
            for t in found} == set(trained)
    first = found[0]
    model = train(sweep.trial_recipe("assignment", attention, first["learning_rate"], first["table_rate"]),
                  TASKS["assignment"].build().corpus, tmp_path / "again", sweeps.SEED, torch.device("cpu"))
    again = validation_loss(model, TASKS["assignment"].build().corpus, sweep.SCORED_ON)
    assert first["loss"] == pytest.approx(again, abs=1e-4)


def product(seed: int) -> list[float]:
    """Returns numbers that depend on the order of summation, and so on the number of threads."""
    random = torch.Generator().manual_seed(seed)
    matrix = torch.randn(300, 300, generator=random)
    return [*(matrix @ matrix).sum(1).tolist(), float(torch.get_num_threads())]


def fails_at_2(job: int) -> int:
    if job == 2:
        raise ValueError("job 2 has no keys")
    return job


@pytest.mark.parametrize("processes", [1, 2])
def test_every_job_gives_its_own_result_with_one_thread(processes: int):
    expected = {job: on_one_thread(product, job) for job in range(5)}
    results = dict(run_jobs(product, range(5), processes))
    assert results == expected
    assert all(numbers[-1] == 1 for numbers in results.values())


def test_a_job_leaves_the_threads_of_its_process_as_they_were():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert on_one_thread(product, 0)[-1] == 1
        assert torch.get_num_threads() == 2
        with pytest.raises(ValueError, match="job 2"):
            on_one_thread(fails_at_2, 2)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_job_that_fails_raises_its_own_error_and_keeps_the_results_before_it(processes: int):
    results = []
    with pytest.raises(ValueError, match="job 2 has no keys"):
        for _, result in run_jobs(fails_at_2, [0, 1, 2], processes):
            results.append(result)
    assert set(results) <= {0, 1} and (processes > 1 or results == [0, 1])


def test_progress_says_how_many_jobs_are_done_and_how_long_the_rest_takes(capsys: pytest.CaptureFixture[str]):
    times = iter((0.0, 60.0, 180.0))
    results = progress(iter([(1, "x"), (0, "y")]), ["first", "second"], lambda: next(times))
    assert list(results) == [(1, "x"), (0, "y")]
    assert capsys.readouterr().out.splitlines() == [
        "1 of 2, 1.0 min, about 1 min left: second", "2 of 2, 3.0 min, about 0 min left: first"]


def test_the_command_line_names_the_processes():
    parser = argparse.ArgumentParser()
    add_processes_option(parser)
    assert [parser.parse_args(given).processes for given in ([], ["--processes", "3"])] == [1, 3]
    for wrong in ("0", "x"):
        with pytest.raises(SystemExit):
            parser.parse_args(["--processes", wrong])
