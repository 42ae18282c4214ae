"""Lab: a model behind one small protocol, whoever made it; loaded once, shared by all, never changed."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from numpy import ndarray
from torch import Tensor

from models.generate.decoding import Step
from models.generate.sampling import GREEDY, Sampling
from models.kind import Kind, policies_of, shape_of
from models.nets.attention.base import UNTOUCHED, Intervention
from models.plan import TRAINED, Address, HeadPlan, Scale
from models.prompt import Prompt
from models.tasks.base import Reader
from models.trace import Layer, Sketch, Trace, sketch_of

Touch = Callable[[str, int], Intervention]  # kind, layer -> what is done to it
Watch = Callable[[str, int, Tensor], None]  # kind, layer, (B, H, N, N) weights as used
UnderGates = Callable[[Mapping[str, Tensor], Sequence[int]], Tensor]  # what Lab.under_gates gives


class Lab(abc.ABC):
    """What `load` returns; read-only and safe between threads. Nothing outside an adapter touches a module.

    Attributes:
        name: like "stories-selective".
        task: reads texts and names tokens; says how answers read.
        kinds: its families of attention layers, in the order of the data.
        constant: kind -> (L, H, size, size) constant matrices; None if there are none yet.
        card: what is known of it, as in card.json; empty for a model that nobody here trained.
    """

    name: str
    task: Reader
    constant: Mapping[str, Any] | None
    card: Mapping[str, Any]

    @property
    @abc.abstractmethod
    def kinds(self) -> tuple[Kind, ...]:
        """Its families of attention layers, in the order of the data."""

    @property
    @abc.abstractmethod
    def trained_length(self) -> int:
        """Longest text seen in training, tokens: the natural base of log n."""

    @property
    @abc.abstractmethod
    def limit(self) -> int:
        """Most tokens that a typed text may have, BOS included; constant matrices are as large."""

    @property
    @abc.abstractmethod
    def longest(self) -> int | None:
        """Most tokens of a text that the model has weights for; None if there is no such limit."""

    @property
    @abc.abstractmethod
    def nbytes(self) -> int:
        """Memory of weights and constant matrices."""

    @property
    @abc.abstractmethod
    def parameters(self) -> int:
        """How many numbers were trained."""

    @property
    def closed(self) -> frozenset[Address]:
        """Heads whose outputs its own training has cut off: no plan gives them back."""
        return frozenset()

    @property
    @abc.abstractmethod
    def fingerprint(self) -> str:
        """SHA-256 of its weights, wherever they lie."""

    @abc.abstractmethod
    def read(self, text: str, limit: int | None = None) -> Prompt:
        """The text as this model reads it; raises InputError if there is nothing in it that could be read."""

    def read_picture(self, data: bytes) -> Prompt:
        """A picture's file as a model that sees reads it; raises InputError if it is none."""
        raise ValueError(f"{self.name} reads text")

    def anchored(self, prompt: Prompt) -> Prompt:
        """The text with what the untouched model writes as its target row, where it writes one: maps and predictions of
        two plans are then about the same tokens; `rewrite` says what a plan makes of it."""
        return prompt

    def rewrite(self, prompt: Prompt, plan: HeadPlan) -> str:
        """What a model of two texts writes of this one under the plan; of another model, nothing."""
        return ""

    @abc.abstractmethod
    def run(self, prompt: Prompt, plans: Sequence[HeadPlan]) -> list[Trace]:
        """A Trace a plan, in one pass: one plan, or the empty one and another.

        Raises:
            ValueError: a plan names a head or a scale that this model hasn't.
        """

    def sketch(self, prompt: Prompt, plans: Sequence[HeadPlan]) -> list[Sketch]:
        """`run` for maps that are too large to be kept: small ones of all heads; `layer` has one layer's in full."""
        return [sketch_of(trace) for trace in self.run(prompt, plans)]

    def layer(self, prompt: Prompt, plan: HeadPlan, kind: str, layer: int) -> Layer:
        """One layer's maps, by a pass of its own."""
        return self.run(prompt, [plan])[0].layer(kind, layer)

    @abc.abstractmethod
    def constant_of(self, kind: str, layer: int, queries: int, keys: int, scale: Scale = TRAINED) -> ndarray | None:
        """(H, queries, keys) a layer's constant matrices for a text of this size; None if there are none. Of relu² they
        weigh what rows weigh under the scale."""

    def under_gates(self, prompt: Prompt) -> UnderGates:
        """The text's predictions as a function of gates, differentiable in them: kind -> (B, L, H) gates, and P
        positions of the row that predictions stand in, give (B, P, V) log-probabilities. What a model writes untouched
        is the row of all of them.

        Raises:
            ValueError: it predicts nothing.
        """
        raise ValueError(f"{self.name} predicts nothing")

    def states(self, batch: Tensor, touch: Touch = lambda kind, layer: UNTOUCHED,
               watch: Watch | None = None) -> list[Tensor]:
        """What stands before the first layer and after each of them: L + 1 of (B, N, C), the last one as the model's
        head reads it; differentiable in what `touch` gives.

        Args:
            batch: (B, N) ids of texts of one length, as `read` gives them.
            watch: told of each layer's weights.

        Raises:
            ValueError: it is no model of one text.
        """
        raise ValueError(f"{self.name} is no model of one text")

    def places(self, n: int, size: int) -> Sequence[int]:
        """Where the n tokens of a text stand on a grid of `size`, on which constant matrices are averaged: what ends
        every text is last on it, whatever the length."""
        return range(n)

    def generate(self, prompt: Prompt, plan: HeadPlan = HeadPlan(), count: int = 40,
                 sampling: Sampling = GREEDY) -> Iterator[str]:
        """A continuation under the plan, a token at a time; of a model that does not write, none."""
        return iter(())

    @property
    def can_forget(self) -> bool:
        """True if it can write within a limited memory, and says itself what may go."""
        return False

    def write_within(self, prompt: Prompt, budgets: Sequence[int], plan: HeadPlan = HeadPlan(),
                     count: int = 40, sampling: Sampling = GREEDY) -> Iterator[Step]:
        """Like `generate`, with so many tokens kept in each layer; see models/generate/decoding.py.

        Raises:
            ValueError: it cannot forget, or the plan or the budgets do not fit it.
        """
        raise ValueError(f"{self.name} cannot forget")

    def selected(self, scores: ndarray) -> ndarray | None:
        """(N, N) S of a layer's scores (H, N, N): what each query asks to forget; None where nothing selects."""
        return None

    @property
    def identity(self) -> str:
        """What caches know it by; more than its name where a visitor made constant matrices of their own."""
        return self.name

    @property
    def shape(self) -> dict[str, tuple[int, int]]:
        """Kind of attention -> (layers, heads)."""
        return shape_of(self.kinds)

    def kind(self, name: str) -> Kind:
        """The kind of this name; raises KeyError."""
        return {kind.name: kind for kind in self.kinds}[name]

    def check(self, plan: HeadPlan) -> None:
        """Raises ValueError if the plan names a head, a constant matrix or a scale that this model hasn't."""
        if outside := plan.within(self.shape)[1]:
            raise ValueError(f"{self.name}: {'; '.join(outside)}")
        if plan.scale.policy not in policies_of(self.kinds):
            raise ValueError(f"{self.name}: a scale of {plan.scale.policy} means nothing to this kind of attention")
        if not self.constant and any(state.constant for state in plan.heads.values()):
            raise ValueError(f"{self.name}: it has no constant matrices yet")


def run(lab: Lab, text: str, plan: HeadPlan = HeadPlan()) -> Trace:
    """One forward pass over `text` under `plan`, with everything captured.

    Raises:
        InputError: the text cannot be read; the message says what and where.
        ValueError: the plan names a head that the model hasn't.
    """
    return run_prompt(lab, lab.read(text), plan)


def run_prompt(lab: Lab, prompt: Prompt, plan: HeadPlan = HeadPlan()) -> Trace:
    """`run` for a text that has been read already."""
    return lab.run(prompt, [plan])[0]
