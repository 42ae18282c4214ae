"""What was measured and no longer holds: on weights that have been replaced, or by a measure that has been mended.

    python -m models.studies.stale          # the commands that measure it again, one a line; before each, why
    python -m models.studies.stale | sh     # does so

Only what is measured on trained weights in minutes: gates that were learned on them, seeds and the weights themselves
are trainings, of models/pruned.py and models/training.py. Nothing of models that do not ship is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from models.checkpoint import CHECKPOINTS, read_json
from models.studies import store

OTHER_WEIGHTS, OLDER_MEASURE = "other weights", "an older measure"


def stale(measurements: Path | None = None, checkpoints: Path | None = None) -> Iterator[tuple[str, str, str]]:
    """(name, kind, why) of what should be measured again, kinds in the order of store.COMMANDS; damaged files, too.

    Args:
        measurements, checkpoints: the repository's own by default.
    """
    for kind in store.COMMANDS:
        for path in sorted((measurements or store.MEASUREMENTS).glob(f"*.{kind}.json")):
            name = path.name.removesuffix(f".{kind}.json")
            why = _why(path, kind, (checkpoints or CHECKPOINTS) / name / "card.json")
            if why:
                yield name, kind, why


def _why(path: Path, kind: str, card: Path) -> str:
    """Empty where the measurement stands, or where its model does not ship."""
    if not card.exists():
        return ""
    try:
        found = read_json(path)
        if not store.is_of(found, read_json(card)):
            return OTHER_WEIGHTS
        return OLDER_MEASURE if int(found.get("version", 1)) < store.version(kind) else ""
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return "damaged"


def main() -> None:
    for name, kind, why in stale():
        print(f"# {name}.{kind}.json: {why}\npython -m {store.COMMANDS[kind]} {name}")


if __name__ == "__main__":
    main()
