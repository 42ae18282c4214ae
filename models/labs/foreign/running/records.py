"""Recorders of a pass, which store all maps, or thumbnails of the maps."""

from collections.abc import Iterable

import numpy
import torch
from numpy import ndarray
from torch import Tensor

from models.kind import Kind
from models.labs.foreign.running.attention import LayerRecord
from models.thumbnails import thumbnails
from models.trace import fixed


class FullRecorder:
    """Stores all maps of all layers, each written once into its array."""

    def __init__(self, kinds: Iterable[Kind], constant: bool) -> None:
        """Allocates nothing yet."""
        self._layers = {kind.name: kind.layers for kind in kinds}
        self._names = ("scores", "live", "norms", *(["weights"] if constant else []))
        self._held: dict[str, dict[str, Tensor]] = {name: {} for name in self._names}
        self._arrays: dict[str, dict[str, ndarray]] = {}

    def __call__(self, kind: str, layer: int, step: LayerRecord) -> None:
        for name in self._names:
            part, stored = getattr(step, name), self._held[name]
            if kind not in stored:
                stored[kind] = torch.empty(self._layers[kind], *part.shape)
            stored[kind][layer].copy_(part)

    def of(self, name: str) -> dict[str, ndarray]:
        """Returns block -> array (L, ...) of `scores`, `live`, `weights` or `norms`.

        If the plan changes no pattern, `weights` and `live` are the same.
        """
        if name not in self._held:
            return self.of("live")
        if name not in self._arrays:
            self._arrays[name] = {kind: fixed(self._held[name][kind].numpy()) for kind in self._layers}
        return self._arrays[name]


class ThumbnailRecorder:
    """Stores thumbnails and norms; a layer's maps are freed when the next layer runs."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        kinds = list(kinds)
        names = [kind.name for kind in kinds]
        self._has_sink = {kind.name: kind.attention.has_sink for kind in kinds}
        self._tiles: dict[str, list[ndarray]] = {name: [] for name in names}
        self._norms: dict[str, list[ndarray]] = {name: [] for name in names}
        self.sizes: dict[str, tuple[int, int]] = {}

    def __call__(self, kind: str, layer: int, step: LayerRecord) -> None:
        self._tiles[kind].append(thumbnails(step.weights.numpy(), self._has_sink[kind]))
        self._norms[kind].append(step.norms.numpy())
        self.sizes[kind] = (step.weights.shape[-2], step.weights.shape[-1])

    @property
    def thumbnails(self) -> dict[str, ndarray]:
        """Returns block -> thumbnails (L, H, n, m) uint8."""
        return {kind: fixed(numpy.stack(layers)) for kind, layers in self._tiles.items()}

    @property
    def norms(self) -> dict[str, ndarray]:
        """Returns block -> norms (L, H, N) of the heads' outputs."""
        return {kind: fixed(numpy.stack(layers)) for kind, layers in self._norms.items()}
