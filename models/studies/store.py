"""What was measured of the models that ship and is in no card: one JSON file a model and a kind of measurement.

Each holds the SHA-256 of the weights that it was measured on, as the card has it, so that numbers of weights that have
since been replaced are not read. Files of before have the card's metric in its place.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from models.checkpoint import CHECKPOINTS, read_json, write_json

MEASUREMENTS = Path(__file__).with_name("measurements")


def read(name: str, kind: str, folder: Path | None = None, checkpoints: Path | None = None) -> dict[str, Any] | None:
    """NAME.KIND.json; None if there is none, if it cannot be read, or if it was measured on other weights.

    Args:
        folder, checkpoints: where measurements and cards lie; the repository's own by default.
    """
    try:
        result = _read((folder or MEASUREMENTS) / f"{name}.{kind}.json")
        card = _read((checkpoints or CHECKPOINTS) / name / "card.json")
        return result if is_of(result, card) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_of(measured: Mapping[str, Any], card: Mapping[str, Any]) -> bool:
    """True if something was measured on the weights that a card describes."""
    if "weights" in measured:
        return measured["weights"] == sha(card)
    return measured["metric"] == card["metric"]


def sha(card: Mapping[str, Any]) -> str | None:
    """SHA-256 of the weights that a card describes."""
    return card.get("weights", {}).get("model.safetensors")


def stamp(name: str, kind: str, *more: Path) -> tuple[int, ...]:
    """Changes when the measurement, the card, or a file of `more` does."""
    paths = (MEASUREMENTS / f"{name}.{kind}.json", CHECKPOINTS / name / "card.json", *more)
    return tuple(path.stat().st_mtime_ns if path.exists() else 0 for path in paths)


def write(name: str, kind: str, metric: dict[str, Any], values: dict[str, Any]) -> None:
    """Writes NAME.KIND.json; `metric` is the card's, whose weights were measured."""
    MEASUREMENTS.mkdir(exist_ok=True)
    weights = sha(_read(CHECKPOINTS / name / "card.json"))
    write_json(MEASUREMENTS / f"{name}.{kind}.json", {"name": name, "weights": weights, "metric": metric} | values)


def _read(path: Path) -> dict[str, Any]:
    """A JSON file, read again when it changes: pages ask for it at every click."""
    return _read_version(path, path.stat().st_mtime_ns)


@functools.lru_cache(128)
def _read_version(path: Path, changed: int) -> dict[str, Any]:
    return read_json(path)
