"""What was measured of the models that ship and is in no card: one JSON file a model and a kind of measurement.

Each holds the SHA-256 of the weights that it was measured on, as the card has it, so that numbers of weights that have
since been replaced are not read. Files of before have the card's metric in its place. And each says by which version
of its measure it was made: what an older one found is not read either, and `python -m models.studies.stale` lists both.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from models.messages import told
from models.storage.checkpoint import CHECKPOINTS, read_json, write_json
from models.storage.damage import broken

MEASUREMENTS = Path(__file__).with_name("measurements")
# One more whenever a measure is mended so that its old numbers cannot stand beside new ones; 1 where none stands here.
VERSIONS = {"length": 2, "pieces": 2}  # the same tokens at every length; words that are no names beside names


def read(name: str, kind: str, folder: Path | None = None, checkpoints: Path | None = None) -> dict[str, Any] | None:
    """NAME.KIND.json; None if there is none, or if it was measured on other weights or by an older measure.

    Args:
        folder, checkpoints: where measurements and cards lie; the repository's own by default.

    Raises:
        CheckpointError: it is damaged; the message names the file and what makes it again.
    """
    path = (folder or MEASUREMENTS) / f"{name}.{kind}.json"
    try:
        result = _measured(path, name, kind, checkpoints)
        if result is not None and kind in CHECKS:
            CHECKS[kind](result)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        command = f"python -m {COMMANDS[kind]} {name}" if kind in COMMANDS else ""
        raise broken(Path(*path.parts[-4:]), told("is damaged"), command) from error
    return result


def _measured(path: Path, name: str, kind: str, checkpoints: Path | None) -> dict[str, Any] | None:
    """What a file says, None if it was measured on other weights or is older; raises whatever reading it does."""
    result = _read(path)
    if is_older(result, kind):
        return None
    if result.get("elsewhere"):  # there is no card of a model that does not ship
        return result
    if "metric" not in result:
        raise KeyError("metric")
    try:
        return result if is_of(result, _read((checkpoints or CHECKPOINTS) / name / "card.json")) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # whoever needs the card says so
        return None


def found(name: str, kind: str, folder: Path | None = None, checkpoints: Path | None = None) -> dict[str, Any] | None:
    """As read, without a look at its parts; None for what is damaged, too."""
    try:
        return _measured((folder or MEASUREMENTS) / f"{name}.{kind}.json", name, kind, checkpoints)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _check_length(result: dict[str, Any]) -> None:
    """Raises where something is missing that a page shows."""
    for by_length in result["readings"].values():
        for n, values in by_length.items():
            _numbers(n, values["predictions"], values["loss"], values["accuracy"])
            for quantity in ("entropy", "log_normaliser"):
                for layer in values.get(quantity, ()):
                    _numbers(*layer)
    if not any(result["readings"].values()):
        raise ValueError("nothing was measured")


def _check_memory(result: dict[str, Any]) -> None:
    """Raises where something is missing that a page shows."""
    if not result["points"]:
        raise ValueError("nothing was measured")
    for point in (*result["points"], *result["comparisons"]):
        _numbers(point["factor"], point["perplexity"], *point["budgets"])
        _texts(point["way"])
    _numbers(result["windows"], result["window"], result["validation_windows"])
    _texts(result["name"], result["command"])


def _numbers(*values: Any) -> None:
    for value in values:
        float(value)


def _texts(*values: Any) -> None:
    for value in values:
        if not isinstance(value, str):
            raise TypeError(f"{value!r} is no text")


def _check_blimp(result: dict[str, Any]) -> None:
    """Raises where something is missing that a page shows."""
    _numbers(result["accuracy"], result["accuracy_error"], result["pairs"])
    for bits in result["rights"].values():
        _numbers(*bits)


def _check_pieces(result: dict[str, Any]) -> None:
    """Raises where something is missing that a page shows."""
    for layer in result["layers"]:
        _numbers(*layer["names"], *layer["others"], *layer["words"])
        if not len(layer["names"]) == len(layer["others"]) == len(layer["words"]) > 0:
            raise ValueError("windows are missing")


def _check_sink(result: dict[str, Any]) -> None:
    """Raises where something is missing that a page shows."""
    _numbers(*result["by_window"])
    for layer in result["share"]:
        _numbers(*layer)
    if not result["by_window"]:
        raise ValueError("windows are missing")
    if "gates" in result:
        gates, losses = result["gates"], result["losses"]
        _numbers(gates["closed"], gates["first"], gates["others"], *gates["by_window"])
        for layer in gates["mean"]:
            _numbers(*layer)
        for way in ("own", "constant", "open"):
            _numbers(result["perplexity"][way], *losses[way])
            if len(losses[way]) != len(result["by_window"]):
                raise ValueError("windows are missing")


def _check_sentences(result: dict[str, Any]) -> None:
    """Raises where something is missing that a verdict is decided by."""
    _numbers(result["bleu"], *result["sentence_bleu"])
    if len(result["sentence_bleu"]) < 2:
        raise ValueError("sentences are missing")


CHECKS: dict[str, Callable[[dict[str, Any]], None]] = {
    "length": _check_length, "memory": _check_memory, "blimp": _check_blimp, "pieces": _check_pieces,
    "sink": _check_sink, "sentences": _check_sentences}
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
