"""The result of saving a model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from models.plan import Address


@dataclass(frozen=True)
class SavedModel:
    """A model that was written to a folder.

    Attributes:
        folder: folder with config, weights and tokenizer.
        folded: addresses of the heads whose gate was multiplied into W_O.
        cut: number of pruned heads that were removed from the weights; the other pruned heads have zeros in W_O.
    """

    folder: Path
    folded: tuple[Address, ...]
    cut: int
