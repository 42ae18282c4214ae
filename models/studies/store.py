"""What was measured of the models that ship and is in no card: one JSON file a model and a kind of measurement.

Each holds the SHA-256 of the weights that it was measured on, as the card has it, so that numbers of weights that have
since been replaced are not read. Files of before have the card's metric in its place. And each says by which version
of its measure it was made: what an older one found is not read either, and `python -m models.studies.stale` lists both.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from models.messages import told
from models.storage.checkpoint import CHECKPOINTS, read_json, write_json
from models.storage.damage import CheckpointError, broken
from models.studies.shapes import CARD, HEADER, MEASURED, SHAPES

MEASUREMENTS = Path(__file__).with_name("measurements")
# One more whenever a measure is mended so that its old numbers cannot stand beside new ones; 1 where none stands here.
VERSIONS = {"length": 2, "pieces": 2}  # the same tokens at every length; words that are no names beside names


def read(name: str, kind: str, folder: Path | None = None, checkpoints: Path | None = None) -> dict[str, Any] | None:
    """Returns NAME.KIND.json; None if there is none, or if it is of replaced weights or of an older measure.

    Args:
        folder, checkpoints: of measurements and cards; the repository's own by default.

    Raises:
        CheckpointError: the file is damaged; the message names it and the command that makes it again.
    """
    path = (folder or MEASUREMENTS) / f"{name}.{kind}.json"
    try:
        result = _read(path)
        HEADER.validate_python(result)
        if is_older(result, kind) or not (result.get("elsewhere") or _is_of_card(result, checkpoints, name)):
            return None
        if kind in SHAPES:
            SHAPES[kind].validate_python(result)
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, ValidationError) as error:
        command = f"python -m {COMMANDS[kind]} {name}" if kind in COMMANDS else ""
        raise broken(Path(*path.parts[-4:]), told("is damaged"), command) from error
    return result


def _is_of_card(result: Mapping[str, Any], checkpoints: Path | None, name: str) -> bool:
    """Returns False too where the card is missing or damaged: the page that needs the card reports it.

    Raises:
        ValidationError: the measurement has no metric.
    """
    MEASURED.validate_python(result)
    try:
        card = _read((checkpoints or CHECKPOINTS) / name / "card.json")
        CARD.validate_python(card)
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, ValidationError):
        return False
    return is_of(result, card)


def found(name: str, kind: str) -> dict[str, Any] | None:
    """Returns what `read` returns; None for a damaged file too."""
    try:
        return read(name, kind)
    except CheckpointError:
        return None


# What makes a kind again, given the model's name; later ones go by what earlier ones found.
COMMANDS = {kind: f"models.studies.{module}" for kind, module in {
    "picture": "corpus.pictures", "length": "corpus.lengths", "blimp": "corpus.blimp", "sink": "corpus.sinks",
    "memory": "corpus.forgetting", "pieces": "corpus.word_pieces", "sentences": "corpus.sentences",
    "disagreement": "corpus.disagreement", "heads": "corpus.heads", "pruning": "corpus.pruning",
    "needs": "corpus.minimal_heads", "papa": "papa"}.items()}


def is_of(measured: Mapping[str, Any], card: Mapping[str, Any]) -> bool:
    """True if something was measured on the weights that a card describes."""
    if "weights" in measured:
        return measured["weights"] == sha(card)
    return measured["metric"] == card["metric"]


def sha(card: Mapping[str, Any]) -> str | None:
    """SHA-256 of the weights that a card describes."""
    return card.get("weights", {}).get("model.safetensors")


def version(kind: str) -> int:
    """Of the measure as it is now."""
    return VERSIONS.get(kind, 1)


def is_older(measured: Mapping[str, Any], kind: str) -> bool:
    """True if the measure has been mended since; raises ValueError or TypeError where its version is no number."""
    return int(measured.get("version", 1)) < version(kind)


def stamp(name: str, kind: str, *more: Path) -> tuple[int, ...]:
    """Changes when the measurement, the card, or a file of `more` does."""
    paths = (MEASUREMENTS / f"{name}.{kind}.json", CHECKPOINTS / name / "card.json", *more)
    return tuple(path.stat().st_mtime_ns if path.exists() else 0 for path in paths)


def write_of(name: str, kind: str, weights: str, values: dict[str, Any]) -> None:
    """Writes NAME.KIND.json of a model that does not ship: one of the Hub's, or a moment of a training.

    Args:
        weights: Lab.fingerprint.
    """
    MEASUREMENTS.mkdir(exist_ok=True)
    write_json(MEASUREMENTS / f"{name}.{kind}.json",
               {"name": name, "elsewhere": True, "weights": weights, "version": version(kind)} | values)


def write(name: str, kind: str, metric: dict[str, Any], values: dict[str, Any]) -> None:
    """Writes NAME.KIND.json; `metric` is the card's, whose weights were measured."""
    MEASUREMENTS.mkdir(exist_ok=True)
    weights = sha(_read(CHECKPOINTS / name / "card.json"))
    write_json(MEASUREMENTS / f"{name}.{kind}.json",
               {"name": name, "weights": weights, "version": version(kind), "metric": metric} | values)


def _read(path: Path) -> dict[str, Any]:
    """A JSON file, read again when it changes: pages ask for it at every click."""
    return _read_version(path, path.stat().st_mtime_ns)


@functools.lru_cache(128)
def _read_version(path: Path, changed: int) -> dict[str, Any]:
    return read_json(path)
