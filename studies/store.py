"""Reads and writes measurements of released models that are not in their cards: one JSON file per model and kind.

A file has the SHA-256 of the measured weights, as in the card, and the version of the measure. `read` ignores a file
whose weights have been replaced or whose version is old; `python -m studies.stale` lists such files. Older files
have the card's metric instead of the SHA-256. SHAPES has the keys that a file must have before a page or a verdict
reads it; it may have other keys too, and a kind that is not listed is a JSON object of any content.
"""

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from types import GenericAlias
from typing import Annotated, Any

from annotated_types import MinLen
from pydantic import AfterValidator, ConfigDict, TypeAdapter, ValidationError, conlist, create_model

from models.errors import CheckpointError, broken, in_repository
from models.messages import message
from models.storage.checkpoint import CHECKPOINTS, read_json, write_json

_SOME, _SEVERAL = conlist(float, min_length=1), conlist(float, min_length=2)


def json_object(**fields: Any) -> Any:
    """Returns the type of JSON objects with these keys, name -> type; a key with (type, None) may be missing."""
    own: Any = {name: kind if isinstance(kind, tuple) else (kind, ...) for name, kind in fields.items()}
    return create_model("Object", __config__=ConfigDict(extra="allow"), **own)


def _by(key: type, value: Any) -> Any:
    return GenericAlias(dict, (key, value))


def _same_layers(pieces: Any) -> Any:
    if any(not len(layer.names) == len(layer.others) == len(layer.words) for layer in pieces.layers):
        raise ValueError("windows are missing")
    return pieces


def _same_windows(sink: Any) -> Any:
    if sink.gates is not None and any(len(getattr(sink.losses, way, ())) != len(sink.by_window) for way in _GATES):
        raise ValueError("windows are missing")
    return sink


_AT_LENGTH = json_object(predictions=int, loss=float, accuracy=float, entropy=(list[list[float]], None),
                     log_normaliser=(list[list[float]], None))
_POINT = json_object(way=str, factor=float, perplexity=float, budgets=list[float])
_GATES = {"own": Any, "constant": Any, "open": Any}  # the model's gates, and what replaces them
_PAPA_TASK = json_object(constant_answer=float, scores=_by(str, _by(int, json_object(score=float))))
_HEAD_EXAMPLES = json_object(confidence=list[int], confidence_values=list[float], entropy=list[int],
                         entropy_values=list[float], keys=list[int], shares=list[float], times=list[float],
                         jobs=(dict[str, float], None))
_TYPES = {
    "length": json_object(readings=Annotated[_by(str, _by(int, _AT_LENGTH)), MinLen(1)]),
    "memory": json_object(name=str, command=str, windows=int, window=int, validation_windows=int,
                      points=conlist(_POINT, min_length=1), comparisons=conlist(_POINT)),
    "blimp": json_object(accuracy=float, accuracy_error=float, pairs=int, rights=dict[str, str]),
    "choices": json_object(sets=_by(str, json_object(accuracy=float, accuracy_error=float, items=int, rights=str))),
    "pieces": Annotated[json_object(layers=conlist(json_object(names=_SOME, others=_SOME, words=_SOME))),
                        AfterValidator(_same_layers)],
    "sink": Annotated[json_object(
        by_window=_SOME, share=list[list[float]], perplexity=(json_object(**_GATES), None),
        losses=(json_object(**_GATES), None), gates=(json_object(
            closed=float, first=float, others=float, by_window=list[float], mean=list[list[float]]), None)),
        AfterValidator(_same_windows)],
    "sentences": json_object(bleu=float, sentence_bleu=_SEVERAL),
    "rouge": json_object(rougeL=float, texts=_SEVERAL, conversations=(list[int], None)),
    "examples": json_object(count=int, texts=list[str], heads=_by(str, conlist(conlist(_HEAD_EXAMPLES)))),
    "transfer": json_object(moment=json_object(validation_loss=float),
                        tasks=_by(str, json_object(constant_answer=float, pruned=dict[str, float]))),
    "papa": json_object(name=str, title=str, layers=int, heads=int, parameters=int, command=str, cpu_seconds=float,
                    tasks=_by(str, _PAPA_TASK), moment=(dict[str, Any], None))}
SHAPES = {kind: TypeAdapter[Any](own) for kind, own in _TYPES.items()}
CARD = TypeAdapter[Any](json_object(weights=(dict[str, str], None), metric=dict[str, Any]))
# The header of a measurement: the SHA-256 of the weights, or in older files the card's metric. A model that is not
# released has neither.
HEADER = TypeAdapter[Any](json_object(version=(int, None), elsewhere=(bool, None), weights=(str | None, None),
                                  metric=(dict[str, Any], None)))
MEASURED = TypeAdapter[Any](json_object(metric=dict[str, Any]))
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
    """Returns a cache key: modification times in ns, 0 if missing, of a measurement, its card and other files."""
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
