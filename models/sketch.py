"""Sketch: a trace without its maps. 12 x 12 heads at 512 tokens are 151 MB an array; what is drawn small is shrunk
layer by layer as the model runs, and one layer's maps are made when they are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy
from numpy import ndarray

from models.kind import TEXT
from models.tasks.base import Prompt
from models.thumbnails import thumbnails
from models.trace import Output, Trace, fixed


@dataclass(frozen=True)
class Sketch:
    """What one forward pass did, maps small. Everything else is as in Trace.

    Attributes:
        thumbnails: kind -> (L, H, n, m) uint8, the weights that the plan lets through; see models.thumbnails.
        sizes: kind -> (N, M), queries and keys of the maps as they are.
    """

    rows: Mapping[str, tuple[str, ...]]
    thumbnails: Mapping[str, ndarray]
    sizes: Mapping[str, tuple[int, int]]
    norms: Mapping[str, ndarray]
    outputs: tuple[Output, ...]
    losses: ndarray
    prompt: Prompt
    vectors: ndarray | None = None
    written: str = ""

    @property
    def tokens(self) -> list[str]:
        """The typed text's tokens."""
        return list(self.rows[TEXT])

    @property
    def output(self) -> Output | None:
        """The last prediction; None if the text asks for none."""
        return self.outputs[-1] if self.outputs else None

    @property
    def loss(self) -> float:
        """Mean of the known losses, nats; NaN if none is known."""
        known = self.losses[~numpy.isnan(self.losses)]
        return float(known.mean()) if known.size else float("nan")

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        arrays = [*self.thumbnails.values(), *self.norms.values(), self.losses,
                  *(output.distribution for output in self.outputs)]
        return sum(array.nbytes for array in arrays) + (0 if self.vectors is None else self.vectors.nbytes)


def sketch_of(trace: Trace) -> Sketch:
    """The Sketch of a Trace that is there already."""
    small = {kind: fixed(thumbnails(maps)) for kind, maps in trace.weights.items()}
    sizes = {kind: (maps.shape[-2], maps.shape[-1]) for kind, maps in trace.weights.items()}
    return Sketch(trace.rows, small, sizes, trace.norms, trace.outputs, trace.losses, trace.prompt, trace.vectors,
                  trace.written)
