"""The results of the learning-rate sweeps, and the rule that chooses the rates of recipes from these results.

    {"family": "stories", "steps": 160, "seed": 0, "runs": [
        {"attention": "softmax", "learning_rate": 0.004, "table_rate": 10.0, "loss": 5.1}, ...,
        {"attention": "softmax", "learning_rate": 0.008, "table_rate": 10.0, "loss": 3.6, "steps": 1200}, ...]}

There is one file per family, models/training/sweeps/FAMILY.json, written by `python -m models.training.sweeps`. Every
attention type of a family is trained with the same rates, the same steps and the same seed. The score of a trial is
the loss on the validation split in nats.

The rule chooses the learning rate with the lowest loss at the usual table rate. For types with tables, it then chooses
the table rate with the lowest loss at that learning rate. Short trainings favour high rates. Therefore some families
have a second round, with as many steps as the short trainings with several seeds. The second round begins at the chosen
learning rate and halves the rate as long as the loss is no worse. The result of the first round is used until the
second round is finished. A type without all trials keeps the default of the family.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.storage.checkpoint import locked

SWEEPS = Path(__file__).parent
USUAL_TABLE_RATE = 10.0
TABLE_RATES = (3.0, USUAL_TABLE_RATE, 30.0)
SEED = 0


@dataclass(frozen=True)
class Sweep:
    """The budget of a family's sweep, the same for all its attention types."""

    # steps and warmup: number of steps and of warm-up steps of each trial
    steps: int
    warmup: int
    rates: tuple[float, ...]  # learning rates of the first round
    second: int = 0  # number of steps of a trial in the second round, as in recipes.SHORT; 0 for no second round


# Assignment is not learned at all before about 2,000 steps, so its trials are as long as its trainings. It has four
# rates, because the lowest of three rates was the best for two of its four attention types.
PLANS = {"assignment": Sweep(3000, 100, (2.5e-4, 5e-4, 1e-3, 2e-3)),
         "stories": Sweep(160, 40, (4e-3, 8e-3, 16e-3), 1200), "masked": Sweep(120, 30, (4e-3, 8e-3, 16e-3), 900)}
USUAL = Sweep(120, 30, (2e-3, 4e-3, 8e-3))  # the budget of all other families


def plan_of(family: str) -> Sweep:
    """Returns the budget of a family's sweep."""
    return PLANS.get(family, USUAL)


def read(family: str, folder: Path | None = None) -> list[dict[str, Any]]:
    """Returns the trials of a family; an empty list if there was no sweep, or a sweep with other steps."""
    path = (folder or SWEEPS) / f"{family}.json"
    if not path.exists():
        return []
    table = json.loads(path.read_text(encoding="utf-8") or "{}")
    return table["runs"] if table.get("steps") == plan_of(family).steps else []


def add(family: str, trial: dict[str, Any], folder: Path | None = None) -> None:
    """Adds one trial to a family's file, under a lock, because several processes may write to the file."""
    path = (folder or SWEEPS) / f"{family}.json"
    with locked(path.parent):
        trials = [old for old in read(family, folder) if key(old) != key(trial)]
        table = {"family": family, "steps": plan_of(family).steps, "seed": SEED,
                 "runs": sorted([*trials, trial], key=key)}
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")
        partial.replace(path)


def key(trial: dict[str, Any]) -> tuple[str, float, float, int]:
    """Returns (attention type, learning rate, rate of tables, steps) of a trial, which identify it."""
    return trial["attention"], trial["learning_rate"], trial["table_rate"], trial.get("steps", 0)


def _loss(trial: dict[str, Any]) -> float:
    """Returns the loss of a trial; infinity if the training diverged to NaN."""
    return math.inf if math.isnan(trial["loss"]) else trial["loss"]


def best_rate(trials: list[dict[str, Any]], attention: str, rates: tuple[float, ...]) -> float | None:
    """Returns the learning rate with the lowest loss of the first round, at the usual table rate."""
    losses = {t["learning_rate"]: _loss(t) for t in trials
              if t["attention"] == attention and t["table_rate"] == USUAL_TABLE_RATE and "steps" not in t}
    return min(rates, key=losses.__getitem__) if all(rate in losses for rate in rates) else None


def best_table_rate(trials: list[dict[str, Any]], attention: str, rate: float) -> float:
    """Returns the table rate with the lowest loss of the first round at a learning rate."""
    losses = {t["table_rate"]: _loss(t) for t in trials
              if t["attention"] == attention and t["learning_rate"] == rate and "steps" not in t}
    known = all(table in losses for table in TABLE_RATES)
    return min(TABLE_RATES, key=losses.__getitem__) if known else USUAL_TABLE_RATE


def second_round(trials: list[dict[str, Any]], attention: str, plan: Sweep, first: float) -> tuple[float, bool]:
    """Returns (next learning rate to train, False), or (best learning rate, True) when the second round is finished."""
    losses = {t["learning_rate"]: _loss(t) for t in trials
              if t["attention"] == attention and t.get("steps") == plan.second}
    best = rate = first
    while rate in losses and losses[rate] <= losses[best]:
        best, rate = rate, rate / 2
    return (best, True) if rate in losses else (rate, False)


def chosen(family: str, attention: str, folder: Path | None = None) -> dict[str, float]:
    """Returns the `learning_rate` and `table_rate` of a recipe; an empty dict until all rates have a trial."""
    trials, plan = read(family, folder), plan_of(family)
    first = best_rate(trials, attention, plan.rates)
    if first is None:
        return {}
    rate, is_over = second_round(trials, attention, plan, first)
    return {"learning_rate": rate if is_over else first, "table_rate": best_table_rate(trials, attention, first)}
