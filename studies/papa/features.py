"""Constant attention matrices of a task (PAPA, section 3.1), and the hidden states of all layers under a plan, cached.

    C[i, j] = sum over texts of A[i, j] / number of texts with both positions i, j       0 if there is none

The matrices are on a grid of GRID positions that mean the same in every text (HasStates.grid_positions). For a text of
n tokens they are cut to the text's positions, and each row is divided by its sum. A is the attention pattern of the
released weights: 8-bit integers with a scale per row, as every model of ours is loaded.
"""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from models.capabilities import HasStates, Touch, Watch
from models.lab import Lab
from models.nets.attention.base import Intervention
from models.nets.mean_patterns import cut_to, seen
from models.plan import HeadPlan
from studies.papa.tasks.token_ids import GRID, Texts


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


LIMIT = 2 * 2**30  # limit of the cache in bytes
CLAMP = 60_000.0  # values are clamped to this, because float16 ends at 65,504


@torch.inference_mode()
def features(lab: Lab, texts: Texts, interventions: InterventionsByLength | None = None,
             watch: Watch | None = None) -> Tensor:
    """Returns (tokens, L + 1, C) float16 hidden states: all tokens of all texts, concatenated."""
    values = torch.empty(0)
    for chosen, ids in texts.passes():
        n = ids.shape[1]
        touch = {"touch": interventions(n)} if interventions else {}
        states = HasStates.of(lab).states(ids, watch=watch, **touch)
        if not len(values):
            values = torch.empty(int(texts.starts[-1]), len(states), states[0].shape[-1], dtype=torch.float16)
        rows = texts.rows_of(chosen, n)
        for layer, state in enumerate(states):
            values[rows, layer] = state.clamp(-CLAMP, CLAMP).half()
    return values


class Cache:
    """Features on disk by key; the least recently used files are deleted first."""

    def __init__(self, folder: Path, limit: int = LIMIT) -> None:
        """Uses a folder, which is created when needed, up to `limit` bytes."""
        self._folder, self._limit = folder, limit

    def get(self, key: str, make: Callable[[], Tensor]) -> Tensor:
        """Returns the features stored under the key; if there are none, computes them with `make` and stores them."""
        path = self._folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.safetensors"
        with suppress(OSError, SafetensorError, KeyError):
            values = load_file(path)["features"]
            path.touch()
            return values
        values = make()
        self._store(path, values)
        return values

    def _store(self, path: Path, values: Tensor) -> None:
        if values.nbytes > self._limit:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        files = sorted(self._folder.glob("*.safetensors"), key=lambda file: file.stat().st_mtime_ns)
        sizes = [file.stat().st_size for file in files]
        while files and sum(sizes) + values.nbytes > self._limit:
            files.pop(0).unlink()
            sizes.pop(0)
        partial = path.with_suffix(".part")
        save_file({"features": values}, partial)
        partial.replace(path)


def feature_moments(values: Tensor, part: int = 4096) -> tuple[Tensor, Tensor]:
    """Returns the mean and the standard deviation of each feature."""
    total = sum(chunk.double().sum(0) for chunk in values.split(part)) / len(values)
    spread = sum((chunk.double() - total).square().sum(0) for chunk in values.split(part)) / max(1, len(values) - 1)
    assert isinstance(total, Tensor) and isinstance(spread, Tensor)
    return total.float(), spread.clamp_min(1e-8).sqrt().float()
