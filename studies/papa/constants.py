"""Constant attention matrices of a task, and the interventions that a plan makes on a batch (PAPA, section 3.1).

    C[i, j] = sum over texts of A[i, j] / number of texts with both positions i, j       0 if there is none

The matrices are on a grid of GRID positions that mean the same in every text (HasStates.grid_positions). For a text of
n tokens they are cut to the text's positions, and each row is divided by its sum. A is the attention pattern of the
released weights: 8-bit integers with a scale per row, as every model of ours is loaded.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from models.capabilities import HasStates, Touch
from models.lab import Lab
from models.nets.attention.base import Intervention
from models.nets.mean_patterns import cut_to, seen
from models.plan import HeadPlan
from studies.papa.tasks.token_ids import GRID


class MeanAttention:
    """The running mean of attention patterns over texts, on the grid."""

    def __init__(self, lab: Lab) -> None:
        """Starts with no text; `lab` is the model whose patterns are added."""
        kind = lab.kinds[0]
        self._lab = lab
        self._sums = torch.zeros(kind.layers, kind.heads, GRID, GRID)
        self._counts = torch.zeros(GRID, GRID)

    def add(self, kind: str, layer: int, weights: Tensor) -> None:
        """Adds the patterns of one batch and layer; this is the `watch` argument of HasStates.states."""
        if not weights.isfinite().all():
            raise ValueError(f"the attention pattern of layer {layer + 1} contains NaN or infinity: "
                             "the model's weights are damaged")
        n = weights.shape[-1]
        positions = torch.tensor(HasStates.of(self._lab).grid_positions(n, GRID))
        self._sums[layer][:, positions[:, None], positions] += weights.sum(0)
        if layer == 0:
            self._counts[positions[:, None], positions] += len(weights) * seen(n, n, self._lab.kinds[0].causal)

    @property
    def matrices(self) -> Tensor:
        """(L, H, GRID, GRID) means over the texts added so far."""
        return self._sums / self._counts.clamp_min(1)


class ConstantMatrices:
    """Constant matrices on the grid, cut to the lengths of texts."""

    def __init__(self, lab: Lab, matrices: Tensor) -> None:
        """Keeps the matrices."""
        self._lab, self._matrices = lab, matrices
        self._by_length: dict[int, Tensor] = {}

    def at_length(self, n: int) -> Tensor:
        """Returns (L, H, n, n) matrices whose rows sum to 1; see models.nets.mean_patterns.cut_to."""
        if n not in self._by_length:
            positions = torch.tensor(HasStates.of(self._lab).grid_positions(n, GRID))
            self._by_length[n] = cut_to(self._matrices, positions, positions, self._lab.kinds[0].causal)
        return self._by_length[n]

    def interventions(self, plan: HeadPlan, n: int) -> Touch:
        """Returns the plan's constant heads and gates as the `touch` of HasStates.states, for texts of n tokens."""
        matrices, kind = self.at_length(n), self._lab.kinds[0]
        states = [[plan.state(kind.name, layer, head) for head in range(kind.heads)] for layer in range(kind.layers)]
        constant = torch.tensor([[state.constant for state in row] for row in states])[..., None, None]
        gates = torch.tensor([[state.gate for state in row] for row in states])[..., None, None]

        def touch(name: str, layer: int) -> Intervention:
            return Intervention(is_constant=constant[layer] if constant[layer].any() else None,
                                constant=matrices[layer],
                                gate=gates[layer] if float(gates[layer].min()) < 1 else None)

        return touch

    def mixed(self, dynamic: Tensor, n: int) -> Touch:
        """Returns the mixture of dynamic and constant patterns as the `touch` argument of HasStates.states:"""
        matrices, share = self.at_length(n), (1 - dynamic)[..., None, None]
        return lambda name, layer: Intervention(constant=matrices[layer], share=share[layer])


InterventionsByLength = Callable[[int], Touch]  # tokens per text -> the `touch` argument of HasStates.states
