"""What was measured and no longer holds, on weights that have been replaced or by a measure that has been mended; and
what a model lacks that all of its task have.

    python -m models.studies.stale          # the commands that measure it again, one a line; before each, why
    python -m models.studies.stale | sh     # does so

Only what is measured on trained weights in minutes: gates that were learned on them, seeds and the weights themselves
are trainings, of models/training/prune_heads.py and models/training/trainer.py. Nothing of models that do not ship is
looked at.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from models.storage.checkpoint import CHECKPOINTS, read_json
from models.studies import store
from models.studies.shapes import CARD, HEADER, MEASURED
from models.tasks import TASKS

OTHER_WEIGHTS, OLDER_MEASURE, MISSING = "other weights", "an older measure", "not measured yet"
EVERYWHERE = {"picture": tuple(TASKS), "length": ("stories", "masked", "assignment"), "blimp": ("stories",)}  # by task


def stale(measurements: Path | None = None, checkpoints: Path | None = None) -> Iterator[tuple[str, str, str]]:
    """(name, kind, why) of what should be measured, kinds in the order of store.COMMANDS; damaged files, too.

    Args:
        measurements, checkpoints: the repository's own by default.
    """
    measurements, checkpoints = measurements or store.MEASUREMENTS, checkpoints or CHECKPOINTS
    ships = {path.parent.name for path in checkpoints.glob("*/card.json")}
    for kind in store.COMMANDS:
        there = {path.name.removesuffix(f".{kind}.json") for path in measurements.glob(f"*.{kind}.json")}
        wanted = {name for name in ships if name.split("-")[0] in EVERYWHERE.get(kind, ())}
        for name in sorted(there & ships | wanted):
            why = _why(measurements / f"{name}.{kind}.json", kind, checkpoints / name / "card.json")
            if why:
                yield name, kind, why


def _why(path: Path, kind: str, card: Path) -> str:
    """Empty where the measurement stands."""
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
    for name, kind, why in stale():
        print(f"# {name}.{kind}.json: {why}\npython -m {store.COMMANDS[kind]} {name}")


if __name__ == "__main__":
    main()
