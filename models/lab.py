"""Lab: a trained model with its task, its constant matrices and its card; loaded once, shared by all, never changed."""

from __future__ import annotations

import functools
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from models import checkpoint
from models.attention import TYPES
from models.attention.base import Intervention
from models.heads import HeadPlan
from models.recipes import RECIPES, task_of
from models.tasks.base import Task
from models.transformer import Transformer


@dataclass(frozen=True, eq=False)
class Lab:
    """What `load` returns; read-only and safe between threads.

    Attributes:
        name: like "stories-selective".
        task: reads texts and names tokens.
        model: in evaluation mode, float32.
        constant: kind -> (L, H, limit, limit) constant matrices, rows sum to 1.
        card: card.json as a dict.
    """

    name: str
    task: Task
    model: Transformer = field(repr=False)
    constant: Mapping[str, Tensor] = field(repr=False)
    card: Mapping[str, Any] = field(repr=False)

    @property
    def shape(self) -> dict[str, tuple[int, int]]:
        """Kind of attention -> (layers, heads)."""
        return {"self": (self.model.config.layers, self.model.config.heads)}

    @property
    def scalable(self) -> bool:
        """True if a scale policy means something to this model's attention type."""
        return TYPES[self.model.config.attention].scalable

    @property
    def trained_length(self) -> int:
        """Longest text seen in training, tokens: the natural base of log n."""
        return self.task.trained_length

    def interventions(self, plan: HeadPlan, n: int) -> list[Intervention] | None:
        """The plan as tensors, one Intervention a layer, for a text of n tokens; None for the empty plan.

        Raises:
            ValueError: the plan names a head that this model hasn't.
        """
        if not plan:
            return None
        layers, heads = self.shape["self"]
        if any(kind != "self" or layer >= layers or head >= heads for kind, layer, head in plan.heads):
            raise ValueError(f"{self.name}: {'; '.join(plan.within(self.shape)[1])}")
        constant = [[False] * heads for _ in range(layers)]
        gates = [[1.0] * heads for _ in range(layers)]
        for (_, layer, head), state in plan.heads.items():
            constant[layer][head], gates[layer][head] = state.constant, state.gate
        is_constant, gate = torch.tensor(constant)[..., None, None], torch.tensor(gates)[..., None, None]
        return [Intervention(
            is_constant=is_constant[layer] if any(constant[layer]) else None,
            # Under a causal mask row i reads keys 0..i only, so slicing leaves rows that still sum to 1.
            constant=self.constant["self"][layer, :, :n, :n] if any(constant[layer]) else None,
            gate=gate[layer] if min(gates[layer]) < 1 else None,
            scale=plan.scale,
        ) for layer in range(layers)]


def names() -> list[str]:
    """The models that are shipped, in alphabetical order."""
    return sorted(name for name in RECIPES if (checkpoint.CHECKPOINTS / name / "config.json").exists())


def selects(name: str) -> bool:
    """True if the model's attention has a mask F; does not load it."""
    return TYPES[RECIPES[name].config.attention].selects


def load(name: str) -> Lab:
    """The model of this name; the second call returns the same object.

    Raises:
        ValueError: there is no such model.
        CheckpointError: a file of it is missing or damaged; the message says which and how to make it again.
    """
    if name not in RECIPES:
        raise ValueError(f"no model is called {name!r}; there are {', '.join(names())}")
    with _loading:  # two visitors who ask at once wait for one load instead of doing two
        return _load(name)


_loading = threading.Lock()


@functools.cache
def _load(name: str) -> Lab:
    folder = checkpoint.CHECKPOINTS / name
    task = task_of(name)
    model = checkpoint.read_model(folder)
    return Lab(name, task, model, {"self": checkpoint.read_constant(folder, model.config, task.limit)},
               checkpoint.read_card(folder))
