"""Hidden states of all layers for all texts of a task, and a disk cache of them with a size limit."""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from models.capabilities import HasStates, Watch
from models.lab import Lab
from studies.papa.constants import InterventionsByLength
from studies.papa.tasks.token_ids import Texts

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
