"""What a text's predictions are as a function of gates on all heads of a frozen model, differentiable in them.

Gates of all kinds stand in one row of numbers, in the order of Kind.addresses; a batch of B rows is one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from models.errors import InputError
from models.kind import TEXT, Kind
from models.lab import GatedLogProbabilities, Lab
from models.messages import message
from models.plan import Address, HeadPlan
from models.prompt import Prompt
from models.trace import Said

NUMBERS = 16 * 2**20  # of probabilities in one pass: 64 MB
MAPS = 16 * 2**20  # numbers in the maps that are in memory at once: one layer's, or all layers' with gradients
TOKENS = 4096  # of all copies of the text in one pass


@dataclass(frozen=True)
class Question:
    """Which predictions of a text are looked at.

    Attributes:
        places: P positions in the row of tokens that predictions stand in.
        targets: P ids: the right answers where they are known, else what the untouched model says itself.
        known: True if the right answers are known.
        tokens: of the longest row of the text.
        vocabulary: V of the predictions.
    """

    places: tuple[int, ...]
    targets: tuple[int, ...]
    known: bool
    tokens: int = field(default=1, compare=False)
    vocabulary: int = field(default=1, compare=False)

    @classmethod
    def of(cls, before: Said, index: int | None = None) -> Question:
        """The `index`-th prediction that the untouched model makes of a text, or, of None, all that the text asks for:
        those whose answers are known if there are any.

        Raises:
            ValueError: the model predicts nothing.
        """
        if not before.outputs:
            raise ValueError("This text asks for no prediction")
        sizes = max(len(row) for row in before.rows.values()), len(before.outputs[0].distribution)
        if index is not None:
            output = before.outputs[index if -len(before.outputs) <= index < len(before.outputs) else -1]
            known = output.target >= 0
            return cls((output.position,), (output.target if known else int(output.order[0]),), known, *sizes)
        targets = {place: target for place, target in enumerate(before.prompt.targets) if target >= 0}
        if before.outputs[0].row == TEXT and targets:
            return cls(tuple(targets), tuple(targets.values()), True, *sizes)
        return cls(tuple(output.position for output in before.outputs),
                   tuple(int(output.order[0]) for output in before.outputs), False, *sizes)


class Gating:
    """A text's predictions under gates.

    Args:
        kinds: the model's.
        gated_log_probabilities: Lab.gated_log_probabilities of the text.
        question: which predictions.
    """

    def __init__(self, kinds: Sequence[Kind], gated_log_probabilities: GatedLogProbabilities,
                 question: Question) -> None:
        self._kinds, self._log_probabilities, self.question = kinds, gated_log_probabilities, question
        self.heads: list[Address] = [address for kind in kinds for address in kind.addresses]
        if len(question.places) * question.vocabulary > NUMBERS:
            raise InputError(message("{count} predictions over {vocabulary:,} tokens are too many at once: choose one "
                                     "prediction", count=len(question.places), vocabulary=question.vocabulary))
        with torch.no_grad():
            self.before = self.log_probabilities(torch.ones(1, len(self.heads)))[0]  # (P, V) of the untouched model

    @classmethod
    def of(cls, lab: Lab, prompt: Prompt, question: Question) -> Gating:
        """Of a model and a text; raises ValueError where the model predicts nothing."""
        return cls(lab.kinds, lab.gated_log_probabilities(prompt), question)

    def log_probabilities(self, gates: Tensor) -> Tensor:
        """(B, heads) -> (B, P, V)."""
        parts = gates.split([kind.layers * kind.heads for kind in self._kinds], dim=1)
        by_kind = {kind.name: part.unflatten(1, (kind.layers, kind.heads))
                   for kind, part in zip(self._kinds, parts, strict=True)}
        return self._log_probabilities(by_kind, self.question.places)

    def divergence(self, gates: Tensor) -> Tensor:
        """(B, heads) -> (B,) KL(untouched ‖ gated) in nats, the mean over the places."""
        after = self.log_probabilities(gates)
        # Of a token that a bias of -inf has switched off, both logarithms are -inf; it adds nothing.
        ratio = (self.before - after).masked_fill(self.before.isneginf(), 0.0)
        found = (self.before.exp() * ratio).sum(-1).mean(-1)
        return found if torch.is_grad_enabled() else found.clamp_min(0.0)  # rounding gives -4e-7 for no change

    @property
    def rows(self) -> int:
        """Most rows of gates in one pass without gradients."""
        maps = max(kind.heads for kind in self._kinds) * self.question.tokens**2
        return max(1, min(NUMBERS // self.before.numel(), MAPS // maps, TOKENS // self.question.tokens))

    @property
    def rows_with_gradients(self) -> int:
        """Most rows of gates in one pass that keeps what gradients need."""
        maps = len(self.heads) * self.question.tokens**2
        return max(1, min(NUMBERS // self.before.numel(), MAPS // max(1, maps)))

    def loss(self, gates: Tensor) -> Tensor:
        """(B, heads) -> (B,) nats of the targets, the mean over the places."""
        targets = torch.tensor(self.question.targets)[None, :, None].expand(len(gates), -1, -1)
        return -self.log_probabilities(gates).gather(-1, targets).squeeze(-1).mean(-1)

    def in_parts(self, measure: Callable[[Tensor], Tensor], gates: Tensor) -> Tensor:
        """`measure` of many rows, without gradients and with the memory of `rows` of them."""
        with torch.no_grad():
            return torch.cat([measure(part) for part in gates.split(self.rows)])

    def alone(self, measure: Callable[[Tensor], Tensor]) -> Tensor:
        """(heads,) what `measure` says with each head pruned by itself."""
        return self.in_parts(measure, 1 - torch.eye(len(self.heads)))

    def plan(self, is_open: Tensor) -> HeadPlan:
        """Gates of 0 for the heads where (heads,) `is_open` is False."""
        closed = [head for head, stays in zip(self.heads, is_open.tolist(), strict=True) if not stays]
        return HeadPlan().with_heads(closed, gate=0.0)
