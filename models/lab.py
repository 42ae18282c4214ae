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
        _, problems = plan.within(self.shape)
        if problems:
            raise ValueError(f"{self.name}: {'; '.join(problems)}")
        layers, heads = self.shape["self"]
        return [self._layer([plan.state("self", layer, head) for head in range(heads)], layer, n, plan)
                for layer in range(layers)]

    def _layer(self, states: list, layer: int, n: int, plan: HeadPlan) -> Intervention:
        constant = [state.constant for state in states]
        gates = [state.gate for state in states]
        return Intervention(
            is_constant=torch.tensor(constant)[:, None, None] if any(constant) else None,
            # Under a causal mask row i reads keys 0..i only, so slicing leaves rows that still sum to 1.
            constant=self.constant["self"][layer, :, :n, :n] if any(constant) else None,
            gate=torch.tensor(gates)[:, None, None] if any(gate != 1 for gate in gates) else None,
            scale=plan.scale,
        )


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
