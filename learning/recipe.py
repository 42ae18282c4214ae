"""Recipe: all settings of a small training, as an immutable value with a short text form for links.

    lookup.softmax.2x4.0.1500.self-1.2c      task, attention type, layers x heads, seed, steps, plan
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from learning.tasks import TASKS
from models.errors import InputError
from models.kind import SELF
from models.messages import cut, listed, message
from models.nets.attention import TYPES
from models.nets.config import Config
from models.plan import HeadPlan

# the causal attention types with heads; gated attention units have one head and no MLP
ATTENTION = tuple(name for name, attention in TYPES.items() if not attention.replaces_mlp)
MAX_LAYERS, MAX_HEADS, MAX_SEED, MAX_STEPS = 3, 8, 9999, 3000
STEPS = 1500
WIDTH = 64  # width of the hidden states; smaller if the heads, whose width is even, do not divide it
_TEXT = re.compile(r"([a-z]+)\.([a-z0-9-]+)\.(\d{1,4})x(\d{1,4})\.(\d{1,9})\.(\d{1,9})(?:\.(.*))?",
                   re.ASCII | re.DOTALL)


@dataclass(frozen=True)
class Recipe:
    """The settings of a small training.

    Attributes:
        task: a key of TASKS.
        attention: a name in ATTENTION.
        layers: number of layers, 1 to 3.
        heads: number of heads per layer, 1 to 8.
        seed: seed of the initial weights and of the training sequences, 0 to 9999.
        steps: number of optimiser steps, 1 to 3000.
        plan: constant heads, gates and scale, which hold from the first step. A constant head has even weights over the
            positions that it may see.

    Raises:
        InputError: a setting is outside its range, or the plan patches heads or names a head that does not exist.
    """

    task: str
    attention: str = "softmax"
    layers: int = 2
    heads: int = 4
    seed: int = 0
    steps: int = STEPS
    plan: HeadPlan = HeadPlan()

    def __post_init__(self) -> None:
        for value, names, template in (
                (self.task, tuple(TASKS), message("there is no task {name}: choose one of {names}",
                                                  name=_quoted(self.task), names=", ".join(TASKS))),
                (self.attention, ATTENTION, message("there is no causal attention type {name}: choose one of {names}",
                                                    name=_quoted(self.attention), names=", ".join(ATTENTION)))):
            if not isinstance(value, str) or value not in names:
                raise InputError(template)
        for count, least, most, problem in (
                (self.layers, 1, MAX_LAYERS, message("a training has 1 to {most} layers, not {value}", most=MAX_LAYERS,
                                                     value=_quoted(self.layers))),
                (self.heads, 1, MAX_HEADS, message("a training has 1 to {most} heads per layer, not {value}",
                                                   most=MAX_HEADS, value=_quoted(self.heads))),
                (self.seed, 0, MAX_SEED, message("a seed is a number from 0 to {most}, not {value}", most=MAX_SEED,
                                                 value=_quoted(self.seed))),
                (self.steps, 1, MAX_STEPS, message("a training has 1 to {most:,} steps, not {value}", most=MAX_STEPS,
                                                   value=_quoted(self.steps)))):
            if type(count) is not int or not least <= count <= most:
                raise InputError(problem)
        if not isinstance(self.plan, HeadPlan):
            raise InputError(message("a plan is a HeadPlan, not {value}", value=_quoted(self.plan)))
        if self.plan.patches:
            raise InputError(message("a training cannot patch heads"))
        outside = self.plan.within({SELF: (self.layers, self.heads)}, TYPES[self.attention].policies)[1]
        if outside:
            raise InputError(listed(outside[:3], "; "))

    @property
    def config(self) -> Config:
        """The shape of the model."""
        task = TASKS[self.task]
        width = self.heads * 2 * (WIDTH // (2 * self.heads))
        return Config(self.attention, vocabulary=len(task.labels), width=width, layers=self.layers, heads=self.heads,
                      output_scale=0.1, trained_length=task.longest)

    def __str__(self) -> str:
        """Returns the text form, whose characters a URL does not escape."""
        plan = f".{self.plan}" if self.plan else ""
        return f"{self.task}.{self.attention}.{self.layers}x{self.heads}.{self.seed}.{self.steps}{plan}"

    @classmethod
    def parse(cls, text: str) -> Recipe:
        """Returns the recipe with this text form, the inverse of str(), or raises InputError."""
        match = _TEXT.fullmatch(text)
        if match is None:
            raise InputError(message("{text} is no training; write it like {example}", text=_quoted(text),
                                     example="lookup.softmax.2x4.0.1500"))
        task, attention, *numbers, plan = match.groups(default="")
        try:
            parsed = HeadPlan.parse(plan)
        except ValueError as error:
            raise InputError(str(error)) from error
        layers, heads, seed, steps = map(int, numbers)
        return cls(task, attention, layers, heads, seed, steps, parsed)


def _quoted(value: object) -> str:
    return f"“{cut(str(value), 24)}”"
