"""Lists the measurements that are missing or out of date: their weights were replaced, or their measure was corrected.

    python -m studies.stale          # prints the commands to run, one per line, each after its reason
    python -m studies.stale | sh     # runs them

Only measurements that take minutes are listed. Learned gates, other seeds and weights are trainings
(studies/prune_heads.py, studies/seeds.py, models/training/trainer.py). Models that are not released are not
checked.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from models.storage.checkpoint import CHECKPOINTS, read_json
from models.tasks import TASKS
from models.training.recipes import FAMILIES
from studies import store
from studies.store import CARD, HEADER, MEASURED

OTHER_WEIGHTS, OLDER_MEASURE, MISSING = "other weights", "an older measure", "not measured yet"
# type of measurement -> tasks all of whose models need it
EVERYWHERE = {"picture": tuple(TASKS), "examples": tuple(TASKS), "length": ("stories", "masked", "assignment"),
              "blimp": ("stories",), "choices": ("stories",)}


def stale(measurements: Path | None = None, checkpoints: Path | None = None) -> Iterator[tuple[str, str, str]]:
    """Yields (name, kind, reason) of each measurement to run, in the order of store.COMMANDS."""
    measurements, checkpoints = measurements or store.MEASUREMENTS, checkpoints or CHECKPOINTS
    ships = {path.parent.name for path in checkpoints.glob("*/card.json")}
    for kind in store.COMMANDS:
        measured = {path.name.removesuffix(f".{kind}.json") for path in measurements.glob(f"*.{kind}.json")}
        wanted = {name for name in ships if _family_of(name, checkpoints) in EVERYWHERE.get(kind, ())}
        for name in sorted(measured & ships | wanted):
            why = _why(measurements / f"{name}.{kind}.json", kind, checkpoints / name / "card.json")
            if why:
                yield name, kind, why


def _family_of(name: str, checkpoints: Path) -> str:
    """Returns the family of a model with a recipe, else the task from its card; empty if the card is damaged."""
    try:
        return FAMILIES.get(name) or str(read_json(checkpoints / name / "card.json")["task"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _why(path: Path, kind: str, card: Path) -> str:
    """Returns the reason to measure again; empty if the measurement is current."""
    if not path.exists():
        return MISSING
    try:
        measured, released = read_json(path), read_json(card)
        HEADER.validate_python(measured)
        CARD.validate_python(released)
        if "weights" not in measured:
            MEASURED.validate_python(measured)
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, ValidationError):
        return "damaged"
    if not store.is_of(measured, released):
        return OTHER_WEIGHTS
    return OLDER_MEASURE if store.is_older(measured, kind) else ""


def main() -> None:
    """Runs the command of the module's docstring."""
    for name, kind, why in stale():
        print(f"# {name}.{kind}.json: {why}\npython -m {store.COMMANDS[kind]} {name}")


if __name__ == "__main__":
    main()
