"""TrainedLab: what our own models, of one text or of two, have in common behind the protocol of models/lab.py."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from models.kind import Kind
from models.lab import Lab
from models.nets.attention import kinds_of
from models.nets.transformer import Model
from models.prompt import Prompt
from models.tasks.base import Task


@dataclass(frozen=True, eq=False)
class TrainedLab(Lab):
    """A trained model of ours with its task, its constant matrices and its card.

    Attributes:
        model: in evaluation mode, float32.
        constant: kind -> (L, H, limit, limit) constant matrices, rows sum to 1.
        card: card.json as a dict.
    """

    name: str
    task: Task
    model: Model = field(repr=False)
    constant: Mapping[str, Tensor] = field(repr=False)
    card: Mapping[str, Any] = field(repr=False)

    @functools.cached_property
    def kinds(self) -> tuple[Kind, ...]:
        return kinds_of(self.model.config)

    @property
    def trained_length(self) -> int:
        return self.model.config.trained_length

    @property
    def limit(self) -> int:
        return self.model.limit(self.task.limit)

    @property
    def longest(self) -> int | None:
        return self.model.longest

    @functools.cached_property
    def nbytes(self) -> int:
        return sum(tensor.nbytes for tensor in [*self.model.state_dict().values(), *self.constant.values()])

    @property
    def parameters(self) -> int:
        return self.model.parameter_count()

    @property
    def fingerprint(self) -> str:
        return str(self.card.get("weights", {}).get("model.safetensors", ""))

    def read(self, text: str, limit: int | None = None) -> Prompt:
        return self.task.read(text, limit or self.limit)
