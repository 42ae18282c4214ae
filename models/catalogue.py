"""The catalogue: every model that there is, and what it has and can do, without loading it.

Ours are known by their folders' config.json and card.json. Pages, links and choices ask here; `models.load` does too.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from models import checkpoint, foreign
from models.attention import TYPES
from models.kind import Kind, shape_of
from models.tasks import TASKS
from models.tasks.base import Reader, Task


@dataclass(frozen=True)
class Entry:
    """A model that can be asked for.

    Attributes:
        name: like "stories-selective".
        task: what it was trained for, or how it reads; models of one task form a family, and read the same texts.
        kinds: its families of attention layers.
        trained_length: longest text of its training, tokens.
        limit: most tokens that a typed text may have.
    """

    name: str
    task: Reader
    kinds: tuple[Kind, ...]
    trained_length: int
    limit: int

    @property
    def shape(self) -> dict[str, tuple[int, int]]:
        """Kind of attention -> (layers, heads)."""
        return shape_of(self.kinds)

    @property
    def selects(self) -> bool:
        """True if it has a mask F."""
        return any(kind.attention.selects for kind in self.kinds)


def names() -> list[str]:
    """The models that are shipped, in alphabetical order."""
    return sorted(path.parent.name for path in checkpoint.CHECKPOINTS.glob("*/card.json"))


def find(name: str) -> Entry:
    """The entry of this name.

    Raises:
        ValueError: there is no such model.
        CheckpointError: its config or its card cannot be read.
    """
    if foreign.is_foreign(name):
        return foreign.entry(name)
    folder = checkpoint.CHECKPOINTS / name
    # Names come from links: one that is no plain name must never reach the file system.
    if not name.replace("-", "").isalnum() or not folder.is_dir():
        raise ValueError(f"no model is called {name!r}; there are {', '.join(names())}")
    return _find(name, checkpoint.stamp(folder))


@functools.lru_cache(128)
def _find(name: str, stamp: tuple[int, ...]) -> Entry:
    folder = checkpoint.CHECKPOINTS / name
    config, card = checkpoint.read_config(folder), checkpoint.read_card(folder)
    task = task_named(card["task"])
    attention = TYPES[config.attention]
    kind = Kind("self", config.layers, config.heads, attention.traits(), causal=config.causal)
    return Entry(name, task, (kind,), config.trained_length, min(task.limit, attention.longest(config) or task.limit))


@functools.cache
def task_named(name: str) -> Task:
    """A family's task, one for all its models: it holds a tokenizer and what every token stands for."""
    return TASKS[name]()


def family(name: str) -> list[str]:
    """The models that read the same texts as this one, itself among them; those that are damaged are left out."""
    if foreign.is_foreign(name):
        return [name]
    task = find(name).task
    return [other for other in names() if _task_of(other) is task]


def _task_of(name: str) -> Reader | None:
    try:
        return find(name).task
    except (ValueError, checkpoint.CheckpointError):
        return None
