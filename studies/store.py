"""Reads and writes measurements of released models that are not in their cards: one JSON file per model and kind.

A file has the SHA-256 of the measured weights, as in the card, and the version of the measure. `read` ignores a file
whose weights have been replaced or whose version is old; `python -m studies.stale` lists such files. Older files
have the card's metric instead of the SHA-256.
"""

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from models.errors import CheckpointError, broken, in_repository
from models.messages import message
from models.storage.checkpoint import CHECKPOINTS, read_json, write_json
from studies.shapes import CARD, HEADER, MEASURED, SHAPES

MEASUREMENTS = Path(__file__).with_name("measurements")
# Increase a version when a measure is corrected so that old and new numbers cannot be compared. Default 1.
# length 2: the same tokens at every length; pieces 2: another set of words is compared with names
VERSIONS = {"length": 2, "pieces": 2,
            # papa 2 and transfer 2: probes trained to convergence on shuffled batches of mixed lengths
            "papa": 2, "transfer": 2}


def read(name: str, kind: str, folder: Path | None = None, checkpoints: Path | None = None) -> dict[str, Any] | None:
    """Returns the content of NAME.KIND.json; None if it is missing or outdated."""
    path = (folder or MEASUREMENTS) / f"{name}.{kind}.json"
    try:
        result = _read(path, HEADER)
        if is_older(result, kind) or not (result.get("elsewhere") or _is_of_card(result, checkpoints, name)):
            return None
        if kind in SHAPES:
            _read(path, SHAPES[kind])
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, ValidationError) as error:
        command = f"python -m {COMMANDS[kind]} {name}" if kind in COMMANDS else ""
        raise broken(in_repository(path), message("is damaged"), command) from error
    return result


def _is_of_card(result: Mapping[str, Any], checkpoints: Path | None, name: str) -> bool:
    """Returns True if the measurement was made with the weights of the card."""
    MEASURED.validate_python(result)
    try:
        card = _read((checkpoints or CHECKPOINTS) / name / "card.json", CARD)
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, ValidationError):
        return False
    return is_of(result, card)


def read_undamaged(name: str, kind: str) -> dict[str, Any] | None:
    """Returns the same as `read`, but None for a damaged file."""
    try:
        return read(name, kind)
    except CheckpointError:
        return None


def is_stored(name: str, kind: str) -> bool:
    """Returns True if `read` returns a result, or raises an error that names a damaged file."""
    try:
        return read(name, kind) is not None
    except CheckpointError:
        return True


# type of measurement -> the module whose command measures it, given the model's name; later types may depend on earlier
# ones
COMMANDS = {kind: f"studies.{module}" for kind, module in {
    "picture": "corpus.pictures", "length": "corpus.lengths", "blimp": "zero_shot.blimp",
    "choices": "zero_shot.choices", "sink": "corpus.sinks", "memory": "corpus.forgetting",
    "pieces": "corpus.word_pieces", "sentences": "generated.sentences", "rouge": "generated.rouge",
    "disagreement": "corpus.disagreement", "heads": "corpus.heads", "pruning": "corpus.pruning",
    "needs": "corpus.minimal_heads", "patching": "corpus.patching", "papa": "papa",
    "examples": "corpus.examples"}.items()}


def is_of(measured: Mapping[str, Any], card: Mapping[str, Any]) -> bool:
    """Returns True if a measurement was made with the weights that a card describes."""
    if "weights" in measured:
        return measured["weights"] == sha(card)
    return measured["metric"] == card["metric"]


def sha(card: Mapping[str, Any]) -> str | None:
    """Returns the SHA-256 of the weights that a card describes; None if the card has none."""
    return card.get("weights", {}).get("model.safetensors")


def version(kind: str) -> int:
    """Returns the current version number of a kind of measurement."""
    return VERSIONS.get(kind, 1)


def is_older(measured: Mapping[str, Any], kind: str) -> bool:
    """Returns True if a measurement was made by an older version of its code."""
    return int(measured.get("version", 1)) < version(kind)


def stamp(name: str, kind: str, *more: Path) -> tuple[int, ...]:
    """Returns modification times in ns as a cache key of the measurement, the card and other files; 0 for a missing
    file."""
    paths = (MEASUREMENTS / f"{name}.{kind}.json", CHECKPOINTS / name / "card.json", *more)
    return tuple(path.stat().st_mtime_ns if path.exists() else 0 for path in paths)


def write_of(name: str, kind: str, weights: str, values: dict[str, Any]) -> None:
    """Writes NAME.KIND.json for a model that is not released: a model of the Hub, or a checkpoint during training."""
    MEASUREMENTS.mkdir(exist_ok=True)
    write_json(MEASUREMENTS / f"{name}.{kind}.json",
               {"name": name, "elsewhere": True, "weights": weights, "version": version(kind)} | values)


def write(name: str, kind: str, metric: dict[str, Any], values: dict[str, Any]) -> None:
    """Writes NAME.KIND.json for a released model."""
    MEASUREMENTS.mkdir(exist_ok=True)
    weights = sha(_read(CHECKPOINTS / name / "card.json"))
    write_json(MEASUREMENTS / f"{name}.{kind}.json",
               {"name": name, "weights": weights, "version": version(kind), "metric": metric} | values)


def _read(path: Path, shape: TypeAdapter[Any] | None = None) -> dict[str, Any]:
    """Returns a JSON file from a cache, which is updated when the file changes: pages read it at every click."""
    return _read_version(path, path.stat().st_mtime_ns, shape)


@functools.lru_cache(512)
def _read_version(path: Path, changed: int, shape: TypeAdapter[Any] | None) -> dict[str, Any]:
    if shape is None:
        return read_json(path)
    content = _read_version(path, changed, None)
    shape.validate_python(content)
    return content
