"""Recorded trainings and the matrix of tasks and attention types.

    python -m learning.recorded                  # trains what is missing, writes learning/recordings/
    python -m learning.recorded --tasks lookup --columns softmax --seeds 5

`matrix.json` has the final accuracy of each training; TASK.TYPE.bin has the moments of seed 0, and RECIPE.bin those of
a training that lessons show. The files are written after each training, so a stopped command continues where it
stopped. A change of the settings in learning/loop.py makes all results out of date, and the command trains anew; for a
changed task, delete its entry.
"""

import argparse
import json
import os
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from learning import loop
from learning.moment import divided, joined
from learning.recipe import STEPS, Recipe
from learning.tasks import TASKS
from models.kind import SELF
from models.plan import HeadPlan
from models.storage.checkpoint import write_json

FOLDER = Path(__file__).parent / "recordings"
EVEN = "even"  # softmax attention with every head constant
COLUMNS = ("softmax", "selective", "gated", "dense", "random", "fixed-random", EVEN)
SEEDS = 3
LESSONS = (Recipe("lookup", plan=HeadPlan().gate(SELF, 0, 1, 0.0)),)  # trainings that only lessons show
# 95% quantiles of Student's t with 1, 2, ... degrees of freedom; the app does not need scipy
QUANTILES = (6.3138, 2.9200, 2.3534, 2.1318, 2.0150, 1.9432, 1.8946, 1.8595, 1.8331)


def recipe_of(task: str, column: str, seed: int = 0) -> Recipe:
    """Returns the recipe of a cell of the matrix."""
    plan = HeadPlan()
    if column == EVEN:
        plan = plan.with_heads([(SELF, layer, head) for layer in range(2) for head in range(4)], constant=True)
    return Recipe(task, "softmax" if column == EVEN else column, seed=seed, plan=plan)


def recording(recipe: Recipe) -> list[bytes] | None:
    """Returns the packed moments of a recorded training (learning/moment.py); None if there is no recording of it."""
    path = _path(recipe)
    return list(divided(path.read_bytes())) if path is not None and path.exists() else None


def _path(recipe: Recipe) -> Path | None:
    names = {recipe_of(recipe.task, column): f"{recipe.task}.{column}" for column in COLUMNS} | {
        each: str(each) for each in LESSONS}
    return FOLDER / f"{names[recipe]}.bin" if recipe in names else None


def matrix() -> dict[str, dict[str, list[float]]]:
    """Returns task -> column of COLUMNS -> the final accuracy of each seed, for all trainings that were measured."""
    stored = _read()["accuracy"]
    return {task: {column: [cells[seed] for seed in sorted(cells)] for column in COLUMNS
                   if (cells := stored.get(task, {}).get(column))} for task in TASKS}


def interval(values: list[float]) -> tuple[float, float, float]:
    """Returns mean and 90% interval (Student's t) over seeds, within 0 and 1; for one seed its value."""
    mean, count = statistics.fmean(values), len(values)
    error = QUANTILES[count - 2] * statistics.stdev(values) / count**0.5 if count > 1 else 0.0
    return mean, max(0.0, mean - error), min(1.0, mean + error)


def _settings() -> dict[str, Any]:
    return {**loop.SETTINGS, "batch": loop.BATCH, "steps": STEPS, "held_out": loop.HELD_OUT}


def _read() -> dict[str, Any]:
    path = FOLDER / "matrix.json"
    stored = json.loads(path.read_text()) if path.exists() else {}
    return stored if stored.get("settings") == _settings() else {"settings": _settings(), "accuracy": {}, "lessons": {}}


def _missing(tasks: Sequence[str], columns: Sequence[str], seeds: int) -> Iterator[tuple[Recipe, tuple[str, ...]]]:
    """Yields each missing training and the place of its accuracy in matrix.json."""
    wanted = [(recipe_of(task, column, seed), ("accuracy", task, column, str(seed)))
              for seed in range(seeds) for task in tasks for column in columns]
    for recipe, place in [*((each, ("lessons", str(each))) for each in LESSONS if each.task in tasks), *wanted]:
        *parents, last = place
        if last not in _inner(_read(), parents):
            yield recipe, place


def _inner(stored: dict[str, Any], parents: Sequence[str]) -> dict[str, Any]:
    for name in parents:
        stored = stored.setdefault(name, {})
    return stored


def main() -> None:
    """Trains what is missing and prints the matrix."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="default: %(default)s")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS), help="default: all")
    parser.add_argument("--columns", nargs="+", choices=COLUMNS, default=list(COLUMNS),
                        help="attention types, or `even` for all heads constant; default: all")
    options = parser.parse_args()
    loop.keep_freed_memory()
    FOLDER.mkdir(exist_ok=True)
    for recipe, (*parents, last) in _missing(options.tasks, options.columns, options.seeds):
        learning = loop.Learning(recipe)
        moments = list(learning)
        if (path := _path(recipe)) is not None:
            path.write_bytes(joined(moment.packed() for moment in moments))
        stored = _read()
        _inner(stored, parents)[last] = round(moments[-1].accuracy, 4)
        stored.setdefault("baseline", {})[recipe.task] = round(learning.baseline, 4)
        write_json(FOLDER / "matrix.partial", stored)
        os.replace(FOLDER / "matrix.partial", FOLDER / "matrix.json")
        print(*parents, last, round(moments[-1].accuracy, 4), flush=True)
    for task, cells in matrix().items():
        print(task, *(f"{column} {mean:.1%} ({low:.1%} to {high:.1%}, {len(values)} seeds);"
                      for column, values in cells.items() for mean, low, high in [interval(values)]))


if __name__ == "__main__":
    main()
