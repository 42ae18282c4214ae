"""Trains every attention type of a family briefly at the same rates and stores the validation losses.

    python -m models.training.sweeps stories
    python -m models.training.sweeps stories --types softmax selective
    python -m models.training.sweeps stories --types softmax-wide      # a model that differs in more than its attention

A stopped sweep resumes; trials that are in models/training/sweeps/FAMILY.json are skipped.
models/training/sweeps/__init__.py has the rates, the numbers of steps and the rule that chooses rates.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from models.storage.checkpoint import build
from models.storage.datasets import add_folder_options
from models.training import sweeps
from models.training.executor import add_processes_option, progress, run_jobs
from models.training.recipes import RECIPES, VARIANTS, Recipe, short_recipe, task_of
from models.training.trainer import precision_for, short_folder, train, validation_loss

SCORED_ON = 4  # size of the validation sample, as a multiple of the sample for learning curves


def types_of(family: str) -> list[str]:
    """Returns the attention types of a family for which there is a recipe named FAMILY-TYPE."""
    attentions = [recipe.config.attention for recipe in RECIPES.values()]
    return [attention for attention in dict.fromkeys(attentions) if f"{family}-{attention}" in RECIPES]


def has_tables(recipe: Recipe) -> bool:
    """Returns True if a model of the recipe learns attention tables, which have a separate learning rate."""
    with torch.device("meta"):
        return any(name.endswith("table") for name, _ in build(recipe.config).named_parameters())


def trial_recipe(family: str, attention: str, rate: float, table_rate: float, second: bool = False) -> Recipe:
    """Returns the recipe of one trial; `second` is True for the second round, whose steps are those of SHORT."""
    name, plan = f"{family}-{attention}", sweeps.plan_of(family)
    recipe = short_recipe(name) if second else replace(RECIPES[name], steps=plan.steps, warmup=plan.warmup)
    return replace(recipe, learning_rate=rate, table_rate=table_rate)


def sweep(family: str, attention: str, data: Path, runs: Path, device: torch.device,
          precision: str | None = None, folder: Path | None = None) -> None:
    """Trains all trials of an attention type that are not in the family's file yet."""
    def attempt(rate: float, table_rate: float, second: bool = False) -> None:
        recipe = trial_recipe(family, attention, rate, table_rate, second)
        trial = {"attention": attention, "learning_rate": rate, "table_rate": table_rate}
        trial |= {"steps": recipe.steps} if second else {}
        if any(sweeps.key(old) == sweeps.key(trial) for old in sweeps.read(family, folder)):
            return
        name = f"{family}-{attention}"
        corpus = task_of(name, data, runs).corpus
        # The best trial of the second round is also the short training of seed 0 (studies/seeds.py), not trained
        # twice.
        place = short_folder(runs, name, recipe, sweeps.SEED) if second else \
            runs / "sweep" / name / f"{rate:g}-{table_rate:g}"
        model = train(recipe, corpus, place, sweeps.SEED, device, precision_for(place, device, precision))
        loss = validation_loss(model, corpus, SCORED_ON)
        sweeps.add(family, trial | {"loss": round(loss, 4)}, folder)

    plan = sweeps.plan_of(family)
    rates = plan.rates
    for rate in rates:
        attempt(rate, sweeps.USUAL_TABLE_RATE)
    best = sweeps.best_rate(sweeps.read(family, folder), attention, rates)
    assert best is not None  # a best rate exists, because all rates have a trial
    if has_tables(RECIPES[f"{family}-{attention}"]):
        for table_rate in sweeps.TABLE_RATES:
            attempt(best, table_rate)
    table_rate = sweeps.best_table_rate(sweeps.read(family, folder), attention, best)
    while plan.second:
        rate, is_over = sweeps.second_round(sweeps.read(family, folder), attention, plan, best)
        if is_over:
            break
        attempt(rate, table_rate, second=True)


def main() -> None:
    """Runs the command of the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", choices=VARIANTS)
    parser.add_argument("--types", nargs="+", metavar="TYPE", help="of this family; its types of attention by default")
    add_folder_options(parser)
    add_processes_option(parser)
    arguments = parser.parse_args()
    known = VARIANTS[arguments.family]
    if unknown := [name for name in arguments.types or () if name not in known]:
        parser.error(f"{', '.join(unknown)}: expected some of {', '.join(known)}")
    types = arguments.types or types_of(arguments.family)
    job = partial(_sweep, arguments.family, arguments.data.absolute(), arguments.runs.absolute())
    try:
        for _ in progress(run_jobs(job, types, arguments.processes), types):
            pass
    except (FileNotFoundError) as error:
        parser.error(str(error))


def _sweep(family: str, data: Path, runs: Path, attention: str) -> None:
    sweep(family, attention, data, runs, torch.device("cuda" if torch.cuda.is_available() else "cpu"))


if __name__ == "__main__":
    main()
