"""PAPA's constant matrices of a task, and what a plan does with them to a batch.

    C[i, j] = sum over texts of A[i, j] / number of texts that have both i and j       0 where there is none

on a grid where a place means the same in every text (Lab.places); cut to a text, rows are divided by their sum.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from models.lab import Lab, Touch
from models.nets.attention.base import Intervention
from models.nets.constants import cut_to, seen
from models.plan import HeadPlan
from models.studies.papa.tasks.token_ids import GRID


class Mean:
    """The mean of weights, text after text; `watch` is what Lab.states tells."""

    def __init__(self, lab: Lab) -> None:
        kind = lab.kinds[0]
        self._lab = lab
        self._sums = torch.zeros(kind.layers, kind.heads, GRID, GRID)
        self._counts = torch.zeros(GRID, GRID)

    def watch(self, kind: str, layer: int, weights: Tensor) -> None:
        n = weights.shape[-1]
        places = torch.tensor(self._lab.places(n, GRID))
        self._sums[layer][:, places[:, None], places] += weights.sum(0)
        if layer == 0:
            self._counts[places[:, None], places] += len(weights) * seen(n, n, self._lab.kinds[0].causal)

    @property
    def matrices(self) -> Tensor:
        """(L, H, GRID, GRID)"""
        return self._sums / self._counts.clamp_min(1)


class Fitted:
    """Constant matrices cut to lengths."""

    def __init__(self, lab: Lab, matrices: Tensor) -> None:
        """`matrices`: (L, H, GRID, GRID)."""
        self._lab, self._matrices = lab, matrices
        self._cut: dict[int, Tensor] = {}

    def of(self, n: int) -> Tensor:
        """(L, H, n, n), rows sum to 1; see models.nets.constants.cut_to."""
        if n not in self._cut:
            places = torch.tensor(self._lab.places(n, GRID))
            self._cut[n] = cut_to(self._matrices, places, places, self._lab.kinds[0].causal)
        return self._cut[n]

    def under(self, plan: HeadPlan, n: int) -> Touch:
        """What the plan does to texts of n tokens."""
        matrices, kind = self.of(n), self._lab.kinds[0]
        states = [[plan.state(kind.name, layer, head) for head in range(kind.heads)] for layer in range(kind.layers)]
        constant = torch.tensor([[its.constant for its in row] for row in states])[..., None, None]
        gates = torch.tensor([[its.gate for its in row] for row in states])[..., None, None]

        def touch(name: str, layer: int) -> Intervention:
            return Intervention(is_constant=constant[layer] if constant[layer].any() else None,
                                constant=matrices[layer],
                                gate=gates[layer] if float(gates[layer].min()) < 1 else None)

        return touch

    def mixed(self, live: Tensor, n: int) -> Touch:
        """(L, H) how much of each head's weights is live, 0 to 1, as what is done to texts of n tokens:

            A = live · A_dyn + (1 - live) · C
        """
        matrices, share = self.of(n), (1 - live)[..., None, None]
        return lambda name, layer: Intervention(constant=matrices[layer], share=share[layer])


Under = Callable[[int], Touch]  # tokens of a text -> what is done to it
