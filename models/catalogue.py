"""Catalogue: the description of every available model, without loading it.

Descriptions of our models are read from config.json and card.json in their folders.
"""

import functools
import os
import re
import time
from pathlib import Path
from typing import Any

from models import added
from models.info import ModelInfo, Variant
from models.labs import foreign
from models.messages import cut, message
from models.nets.attention import TYPES, kinds_of
from models.storage import checkpoint, released
from models.tasks import TASKS
from models.tasks.base import Metric, Reader

MOMENT = 1.0  # after a check of the files, they are not checked again for this many seconds
SHOWN = {  # section of a card -> the fields that pages show for every model
    "attention": ("title", "formula", "source"),
    "model": ("parameters", "layers", "heads", "width", "vocabulary", "longest_text"),
    "cost": ("score_parameters", "score_multiplications", "softmax_score_parameters",
             "softmax_score_multiplications"),
    "training": ("steps", "tokens_per_step", "optimiser", "learning_rate", "seed", "minutes", "command"),
}
SHOWN_DATA = ("name", "licence", "attribution")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*(@\d{1,6})?", re.ASCII)


def names() -> list[str]:
    """Returns the names of the released models, sorted."""
    return list(_names(checkpoint.CHECKPOINTS, moment()))


def names_of(*tasks: str) -> list[str]:
    """Returns the sorted names of the undamaged released models that were trained for one of these tasks."""
    return [name for name in names() if (info := describe(name)) and info.task.name in tasks]


@functools.lru_cache(8)
def _names(checkpoints: Path, moment: int) -> tuple[str, ...]:
    there = os.listdir(checkpoints) if checkpoints.is_dir() else []
    return tuple(sorted(name for name in there if os.path.exists(f"{checkpoints}/{name}/card.json")))


def find(name: str) -> ModelInfo:
    """Returns the description of a model.

    Raises ValueError if there is no such model, CheckpointError if config.json or card.json cannot be read.
    """
    if foreign.is_foreign(name):
        return foreign.entry(name)
    if added.is_added(name):
        lab = added.find(name)
        return ModelInfo(name, lab.task, lab.kinds, lab.trained_length, lab.limit)
    if not _NAME.fullmatch(name):  # names come from links; a name with other characters must not reach the file system
        raise _unknown(name)
    folder = checkpoint.folder_of(name)
    changed = _stamp(folder, moment())
    if not any(changed):
        raise _unknown(name)
    return _find(name, folder, changed)


def describe(name: str) -> ModelInfo | None:
    """Returns the model's description, or None if there is no such model or its files cannot be read."""
    try:
        return find(name)
    except (ValueError, checkpoint.CheckpointError):
        return None


def steps(name: str) -> tuple[int, ...]:
    """Returns the training steps after which a checkpoint of a model is stored, in order; () for most models."""
    model = released.parts_of(name)[0]
    return _steps_of(checkpoint.CHECKPOINTS / model / released.STEPS, moment()) if model in names() else ()


@functools.lru_cache(64)
def _steps_of(folder: Path, moment: int) -> tuple[int, ...]:
    return tuple(sorted(int(path.parent.name) for path in folder.glob("*/card.json") if path.parent.name.isdecimal()))


def at_step(name: str, step: object) -> str:
    """Returns the name of a model's checkpoint, like `assignment-softmax@300`; raises the errors of `find`."""
    name = f"{released.parts_of(name)[0]}@{step}"
    if not _NAME.fullmatch(name):
        raise _unknown(name)
    return find(name).name


def _unknown(name: str) -> ValueError:
    model, at, step = name.partition("@")
    if not at or name in released.digests():
        return ValueError(released.unknown(name, names()))
    if kept := ", ".join(map(str, steps(model))):
        return ValueError(message("{model} has no checkpoint of step {step}, only of {steps}", model=model,
                                  step=cut(step), steps=kept))
    return ValueError(message("{model} has no checkpoints of its training", model=model))


def moment() -> int:
    """Returns the number of the current interval of MOMENT seconds; a click looks up models about 50 times."""
    return int(time.monotonic() / MOMENT)


@functools.lru_cache(256)
def _stamp(folder: Path, moment: int) -> tuple[int, ...]:
    return checkpoint.stamp(folder)


@functools.lru_cache(128)
def _find(name: str, folder: Path, changed: tuple[int, ...]) -> ModelInfo:
    config, card = checkpoint.read_config(folder), checkpoint.read_card(folder)
    task = _reader_of_card(folder, card)
    longest = TYPES[config.attention].longest(config)
    return ModelInfo(name, task, kinds_of(config), config.trained_length, min(task.limit, longest or task.limit),
                     _steps(folder.parent, card), _variant(folder, card))


def _variant(folder: Path, card: dict[str, Any]) -> Variant | None:
    try:
        return Variant(**card["variant"]) if "variant" in card else None
    except TypeError as error:
        raise checkpoint.broken_file(folder, "card.json", message("is damaged")) from error


def _steps(checkpoints: Path, card: dict[str, Any]) -> int:
    try:
        training = card["training"]
        if "start" in training:
            training = checkpoint.read_card(checkpoints / training["start"])["training"]
        return int(training["steps"])
    # the page that shows the card reports the damage
    except (checkpoint.CheckpointError, KeyError, TypeError, ValueError):
        return 0


def complete_card(folder: Path) -> dict[str, Any]:
    """Returns the content of card.json; raises CheckpointError if a field that pages show is missing or damaged."""
    card = checkpoint.read_card(folder)
    try:
        missing = [f"{part}.{key}" for part, keys in SHOWN.items() for key in keys if key not in card[part]]
        missing += [f"data.{key}" for source in card["data"] for key in SHOWN_DATA if key not in source]
        if missing or not isinstance(card["licence"], str):
            absent = ", ".join(missing[:4] or ["licence"])
            raise checkpoint.broken_file(folder, "card.json", message("lacks {names}", names=absent))
        metric_of(_reader_of_card(folder, card).name).describe(card["metric"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise checkpoint.broken_file(folder, "card.json", message("is damaged")) from error
    return card


def _reader_of_card(folder: Path, card: dict[str, Any]) -> Reader:
    if card["task"] not in [*TASKS]:  # a list, because `in` on a dict raises an error for unhashable values
        raise checkpoint.broken_file(folder, "card.json", message("names an unknown task, {name!r},",
                                             name=card["task"]))
    return reader_named(card["task"])


@functools.cache
def reader_named(name: str) -> Reader:
    """Returns the reader of a task, which all its models share: the tokenizer and the labels of all tokens."""
    return TASKS[name].reader()


def metric_of(name: str) -> type[Metric]:
    """Returns the metric class of a task, which describes the scores in the cards of its models."""
    return TASKS[name].metric


def family(name: str) -> list[str]:
    """Returns the names of all models of the task of `name`, `name` included; omits models with damaged files."""
    if foreign.is_foreign(name):
        return foreign.family(name)
    return list(_family(find(name).task, (*names(), *added.names()), checkpoint.CHECKPOINTS, moment()))


@functools.lru_cache(64)
def _family(task: Reader, among: tuple[str, ...], checkpoints: Path, moment: int) -> tuple[str, ...]:
    return tuple(name for name in among if (info := describe(name)) and info.task is task)


def same_family(first: str, second: str) -> bool:
    """Returns True if both models have the same task; raises the errors of `find`."""
    return first == second or find(first).task is find(second).task or second in family(first)
