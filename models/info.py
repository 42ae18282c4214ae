"""ModelInfo: the description of one model, available without loading it."""

from __future__ import annotations

from dataclasses import dataclass

from models.kind import Kind, shape_of
from models.tasks.base import Reader


@dataclass(frozen=True)
class ModelInfo:
    """A model that can be asked for.

    Attributes:
        name: like "stories-selective".
        task: what it was trained for, or how it reads; models of one task form a family, and read the same texts.
        kinds: its families of attention layers.
        trained_length: longest text of its training, tokens.
        limit: most tokens that a typed text may have.
        steps: of its training from fresh weights on, what learned gates added left out; 0 if unknown.
    """

    name: str
    task: Reader
    kinds: tuple[Kind, ...]
    trained_length: int
    limit: int
    steps: int = 0

    @property
    def shape(self) -> dict[str, tuple[int, int]]:
        """Kind of attention -> (layers, heads)."""
        return shape_of(self.kinds)

    @property
    def selects(self) -> bool:
        """True if it has a mask F."""
        return any(kind.attention.selects for kind in self.kinds)
