"""The predictions of a text as a differentiable function of gates on all heads of a frozen model.

The gates of all blocks are one vector, in the order of Kind.addresses; a batch of B vectors is one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from models.capabilities import Explainable, GatedLogProbabilities
from models.errors import InputError
from models.kind import TEXT, Kind
from models.lab import Lab
from models.messages import message
from models.plan import Address, HeadPlan
from models.prompt import Prompt
from models.trace import PassResult

NUMBERS = 16 * 2**20  # largest number of probabilities in one pass: 64 MB
MAPS = 16 * 2**20  # largest number of values in the maps in memory: of one layer, or of all layers with gradients
TOKENS = 4096  # largest number of tokens in one pass, over all copies of the text


@dataclass(frozen=True)
class Question:
    """The predictions of a text that are evaluated."""

    positions: tuple[int, ...]  # P positions in the token sequence of the predictions
    targets: tuple[int, ...]  # P token ids: the text's known targets, else the unmodified model's top-1 predictions
    known: bool  # True if `targets` are the known targets of the text
    tokens: int = field(default=1, compare=False)  # number of tokens of the longest token sequence (input or decoder)
    vocabulary: int = field(default=1, compare=False)  # number of tokens or classes that are predicted

    @classmethod
    def of(cls, before: PassResult, index: int | None = None) -> Question:
        """Returns the Question with one prediction, or with all that have a known target (else with all)."""
        if not before.outputs:
            raise ValueError("This text asks for no prediction")
        sizes = max(len(row) for row in before.rows.values()), len(before.outputs[0].distribution)
        if index is not None:
            output = before.outputs[index if -len(before.outputs) <= index < len(before.outputs) else -1]
            known = output.target >= 0
            return cls((output.position,), (output.target if known else int(output.top()[0]),), known, *sizes)
        targets = {place: target for place, target in enumerate(before.prompt.targets) if target >= 0}
        if before.outputs[0].row == TEXT and targets:
            return cls(tuple(targets), tuple(targets.values()), True, *sizes)
        return cls(tuple(output.position for output in before.outputs),
                   tuple(int(output.top()[0]) for output in before.outputs), False, *sizes)


class Gating:
    """The predictions of a text under gates; a gate of 0 makes a head constant if `constant`, else prunes it."""

    def __init__(self, kinds: Sequence[Kind], gated_log_probabilities: GatedLogProbabilities,
                 question: Question, constant: bool = False) -> None:
        self._kinds, self._log_probabilities, self.question = kinds, gated_log_probabilities, question
        self._constant = constant
        self.heads: list[Address] = [address for kind in kinds for address in kind.addresses]
        if len(question.positions) * question.vocabulary > NUMBERS:
            raise InputError(message("{count} predictions are too many: choose one",
                                     count=len(question.positions), vocabulary=question.vocabulary))
        with torch.no_grad():
            # (P, V) log-probabilities of the unmodified model
            self.before = self.log_probabilities(torch.ones(1, len(self.heads)))[0]

    @classmethod
    def of(cls, lab: Lab, prompt: Prompt, question: Question, constant: bool = False) -> Gating:
        """Returns a text's predictions under gates; raises the errors of Explainable.gated_log_probabilities."""
        return cls(lab.kinds, Explainable.of(lab).gated_log_probabilities(prompt, constant), question, constant)

    def log_probabilities(self, gates: Tensor) -> Tensor:
        """Returns log-probabilities (B, P, V) under gates (B, heads)."""
        parts = gates.split([kind.layers * kind.heads for kind in self._kinds], dim=1)
        by_kind = {kind.name: part.unflatten(1, (kind.layers, kind.heads))
                   for kind, part in zip(self._kinds, parts, strict=True)}
        return self._log_probabilities(by_kind, self.question.positions)

    def divergence(self, gates: Tensor) -> Tensor:
        """Returns KL(unmodified ‖ gated) in nats, (B,), under gates (B, heads): the mean over the positions."""
        after = self.log_probabilities(gates)
        # a token that is excluded by a bias of -inf has -inf in both logarithms and adds nothing
        ratio = (self.before - after).masked_fill(self.before.isneginf(), 0.0)
        divergence = (self.before.exp() * ratio).sum(-1).mean(-1)
        # clamped, because rounding gives -4e-7 for no change
        return divergence if torch.is_grad_enabled() else divergence.clamp_min(0.0)

    @property
    def rows(self) -> int:
        """The largest number of gate vectors in one pass without gradients."""
        maps = max(kind.heads for kind in self._kinds) * self.question.tokens**2
        return max(1, min(NUMBERS // self.before.numel(), MAPS // maps, TOKENS // self.question.tokens))

    @property
    def rows_with_gradients(self) -> int:
        """The largest number of gate vectors in one pass with gradients."""
        maps = len(self.heads) * self.question.tokens**2
        return max(1, min(NUMBERS // self.before.numel(), MAPS // max(1, maps)))

    def loss(self, gates: Tensor) -> Tensor:
        """Returns the loss of the targets in nats, (B,), under gates (B, heads): the mean over the positions."""
        targets = torch.tensor(self.question.targets)[None, :, None].expand(len(gates), -1, -1)
        return -self.log_probabilities(gates).gather(-1, targets).squeeze(-1).mean(-1)

    def in_parts(self, measure: Callable[[Tensor], Tensor], gates: Tensor) -> Tensor:
        """Returns `measure` of many gate vectors, computed without gradients in batches of `rows`."""
        with torch.no_grad():
            return torch.cat([measure(part) for part in gates.split(self.rows)])

    def prune_each(self, measure: Callable[[Tensor], Tensor]) -> Tensor:
        """Returns `measure` (heads,), for each head with this head pruned alone."""
        return self.in_parts(measure, 1 - torch.eye(len(self.heads)))

    def plan(self, is_open: Tensor) -> HeadPlan:
        """Returns the plan that prunes the heads where `is_open` (heads,) is False, or makes them constant."""
        closed = [head for head, stays in zip(self.heads, is_open.tolist(), strict=True) if not stays]
        return HeadPlan().with_heads(closed, constant=True) if self._constant else \
            HeadPlan().with_heads(closed, gate=0.0)
