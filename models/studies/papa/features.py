"""Hidden states of all layers for all of a task's texts, and a cache of them on disk that stays within a limit."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from models.lab import Lab, Watch
from models.studies.papa.constants import Under
from models.studies.papa.tasks.token_ids import Texts

LIMIT = 2 * 2**30  # bytes of the cache
CLAMP = 60_000.0  # float16 ends at 65,504


@torch.inference_mode()
def features(lab: Lab, texts: Texts, under: Under | None = None, watch: Watch | None = None) -> Tensor:
    """(tokens, L + 1, C) float16, all tokens of all texts in one row.

    Args:
        under: what is done to texts of a length; None for nothing.
        watch: told of the weights of every batch and layer.
    """
    found = torch.empty(0)
    for chosen, batch in texts.batches():
        n = batch.shape[1]
        states = lab.states(batch, under(n), watch) if under else lab.states(batch, watch=watch)
        if not len(found):
            found = torch.empty(int(texts.starts[-1]), len(states), states[0].shape[-1], dtype=torch.float16)
        rows = texts.rows_of(chosen, n)
        for layer, state in enumerate(states):
            found[rows, layer] = state.clamp(-CLAMP, CLAMP).half()
    return found


class Cache:
    """Features by what they are of; those that were asked for least lately go first."""

    def __init__(self, folder: Path, limit: int = LIMIT) -> None:
        self._folder, self._limit = folder, limit

    def get(self, key: str, make: Callable[[], Tensor]) -> Tensor:
        """What lies under the key, or what `make` makes, which then lies there."""
        path = self._folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.safetensors"
        with suppress(OSError, SafetensorError, KeyError):
            found = load_file(path)["features"]
            path.touch()
            return found
        found = make()
        self._keep(path, found)
        return found

    def _keep(self, path: Path, found: Tensor) -> None:
        if found.nbytes > self._limit:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        there = sorted(self._folder.glob("*.safetensors"), key=lambda its: its.stat().st_mtime_ns)
        sizes = [its.stat().st_size for its in there]
        while there and sum(sizes) + found.nbytes > self._limit:
            there.pop(0).unlink()
            sizes.pop(0)
        partial = path.with_suffix(".part")
        save_file({"features": found}, partial)
        partial.replace(path)


def moments(values: Tensor, part: int = 4096) -> tuple[Tensor, Tensor]:
    """(L + 1, C) mean and standard deviation of each feature."""
    total = sum(its.double().sum(0) for its in values.split(part)) / len(values)
    spread = sum((its.double() - total).square().sum(0) for its in values.split(part)) / max(1, len(values) - 1)
    assert isinstance(total, Tensor) and isinstance(spread, Tensor)
    return total.float(), spread.clamp_min(1e-8).sqrt().float()
