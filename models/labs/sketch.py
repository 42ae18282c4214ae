"""Sketch: a trace without its maps. 12 x 12 heads at 512 tokens are 151 MB an array; what is drawn small is shrunk
layer by layer as the model runs, and one layer's maps are made when they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

from numpy import ndarray

from models.kind import Kind
from models.labs.thumbnails import thumbnails
from models.trace import Said, Trace, fixed


@dataclass(frozen=True, kw_only=True)
class Sketch(Said):
    """What one forward pass did, maps small.

    Attributes:
        thumbnails: kind -> (L, H, n, m) uint8, the weights that the plan lets through; see models.labs.thumbnails.
        sizes: kind -> (N, M), queries and keys of the maps as they are.
    """

    thumbnails: Mapping[str, ndarray]
    sizes: Mapping[str, tuple[int, int]]

    def _arrays(self) -> list[ndarray]:
        return [*super()._arrays(), *self.thumbnails.values()]


def bytes_of_maps(kinds: Iterable[Kind], lengths: Mapping[str, int]) -> int:
    """Memory of a Trace's scores and weights.

    Args:
        lengths: row of tokens -> how many it has, or will have at most.
    """
    return sum(2 * 4 * kind.layers * kind.heads * lengths[kind.query_row] * lengths[kind.key_row] for kind in kinds)


def sketch_of(trace: Trace) -> Sketch:
    """The Sketch of a Trace that is there already."""
    small = {kind: fixed(thumbnails(maps)) for kind, maps in trace.weights.items()}
    sizes = {kind: (maps.shape[-2], maps.shape[-1]) for kind, maps in trace.weights.items()}
    said = {field.name: getattr(trace, field.name) for field in fields(Said)}
    return Sketch(**said, thumbnails=small, sizes=sizes)
