"""Lab: a trained model with its task, its constant matrices and its card; loaded once, shared by all, never changed."""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from models import checkpoint
from models.attention import TYPES
from models.attention.base import Intervention, SelfAttention
from models.checkpoint import limit_of
from models.heads import TRAINED, HeadPlan
from models.recipes import RECIPES, task_of
from models.tasks.base import Prompt, Task
from models.transformer import Transformer

MEMORY = 400 * 2**20  # bytes of models that are held: all that ship fit, and a host of 1 GB holds them


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
    def attention(self) -> type[SelfAttention]:
        """The attention type, with its title, formula and what it can do."""
        return TYPES[self.model.config.attention]

    @property
    def trained_length(self) -> int:
        """Longest text seen in training, tokens: the natural base of log n."""
        return self.model.config.trained_length

    @property
    def limit(self) -> int:
        """Most tokens that a typed text may have, BOS included."""
        return limit_of(self.model, self.task)

    @functools.cached_property
    def nbytes(self) -> int:
        """Memory of weights and constant matrices."""
        tensors = [*self.model.state_dict().values(), *self.constant.values()]
        return sum(tensor.nbytes for tensor in tensors)

    def read(self, text: str) -> Prompt:
        """The text as this model reads it; raises InputError if there is nothing in it that could be read."""
        return self.task.read(text, self.limit)

    def constant_of(self, layer: int, n: int) -> Tensor:
        """(H, n, n) a layer's constant matrices for a text of n tokens: PAPA's mean, cut and normalised anew.

        Under a causal mask row i reads keys 0..i only, so cutting leaves rows that still sum to 1. Rows of relu²
        do not sum to 1 in the first place; they are cut and no more. A row that had all its weight beyond the text,
        as that of a head which looks four words ahead, weighs all keys alike.
        """
        matrices = self.constant["self"][layer, :, :n, :n]
        if self.model.config.causal or not self.attention.is_distribution or n == self.limit:
            return matrices
        sums = matrices.sum(-1, keepdim=True)
        return torch.where(sums > 0, matrices / sums, 1 / n)

    def interventions(self, plan: HeadPlan, n: int) -> list[Intervention] | None:
        """The plan as tensors, one Intervention a layer, for a text of n tokens; None for the empty plan.

        Raises:
            ValueError: the plan names a head or a scale that this model hasn't.
        """
        if not plan:
            return None
        layers, heads = self.shape["self"]
        if any(kind != "self" or layer >= layers or head >= heads for kind, layer, head in plan.heads):
            raise ValueError(f"{self.name}: {'; '.join(plan.within(self.shape)[1])}")
        if plan.scale.policy not in self.attention.policies:
            raise ValueError(f"{self.name}: a scale of {plan.scale.policy} means nothing to this kind of attention")
        constant = [[False] * heads for _ in range(layers)]
        gates = [[1.0] * heads for _ in range(layers)]
        for (_, layer, head), state in plan.heads.items():
            constant[layer][head], gates[layer][head] = state.constant, state.gate
        is_constant, gate = torch.tensor(constant)[..., None, None], torch.tensor(gates)[..., None, None]
        return [Intervention(
            is_constant=is_constant[layer] if any(constant[layer]) else None,
            constant=self.constant_of(layer, n) if any(constant[layer]) else None,
            gate=gate[layer] if min(gates[layer]) < 1 else None,
            factor=None if plan.scale == TRAINED else self.model.blocks[layer].attention.factor(plan.scale, n),
        ) for layer in range(layers)]


def names() -> list[str]:
    """The models that are shipped, in alphabetical order."""
    return sorted(name for name in RECIPES if (checkpoint.CHECKPOINTS / name / "card.json").exists())


def type_of(name: str) -> type[SelfAttention]:
    """The attention type of a model; does not load it."""
    return TYPES[RECIPES[name].config.attention]


def load(name: str) -> Lab:
    """The model of this name; the second call returns the same object while it is held.

    As many models are held as fit into MEMORY, those that were asked for last; what others still use lives on
    until they let go of it.

    Raises:
        ValueError: there is no such model.
        CheckpointError: a file of it is missing or damaged; the message says which and how to make it again.
    """
    if name not in RECIPES:
        raise ValueError(f"no model is called {name!r}; there are {', '.join(names())}")
    with _loading:  # two visitors who ask at once wait for one load instead of doing two
        if name in _held:
            _held.move_to_end(name)
            return _held[name]
        _held[name] = _load(name)
        while len(_held) > 1 and sum(lab.nbytes for lab in _held.values()) > MEMORY:
            _held.popitem(last=False)
        return _held[name]


_loading = threading.Lock()
_held: OrderedDict[str, Lab] = OrderedDict()


def _load(name: str) -> Lab:
    folder = checkpoint.CHECKPOINTS / name
    task = _task(name)
    model = checkpoint.read_model(folder)
    constant = checkpoint.read_constant(folder, model.config, limit_of(model, task))
    return Lab(name, task, model, {"self": constant}, checkpoint.read_card(folder))


_tasks: dict[str, Task] = {}


def _task(name: str) -> Task:
    """A family's task, one for all its models: it holds a tokenizer and what every token stands for."""
    return _tasks.setdefault(name.split("-")[0], task_of(name))
