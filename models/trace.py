"""Trace: the result of one forward pass; Sketch: the same with thumbnails in place of maps; measures of both."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields

import numpy
from numpy import ndarray

from models.kind import TEXT, Kind
from models.prompt import Prompt
from models.thumbnails import thumbnails


@dataclass(frozen=True)
class Output:
    """A distribution over the vocabulary, at one position.

    Attributes:
        position: index of the token after which it stands.
        distribution: (V,) float32 probabilities, in the vocabulary's order.
        names: V texts, in the vocabulary's order.
        target: id of the right answer where it is known, else -1.
        row: the row of tokens that `position` counts in.
    """

    position: int
    distribution: ndarray
    names: tuple[str, ...]
    target: int = -1
    row: str = TEXT

    @functools.cached_property
    def order(self) -> ndarray:
        """(V,) ids, the most probable first."""
        return numpy.argsort(-self.distribution, kind="stable")

    @property
    def labels(self) -> list[str]:
        """V texts, the most probable first."""
        return [self.names[i] for i in self.order]

    @property
    def probabilities(self) -> ndarray:
        """(V,) float32, the highest first; sums to 1."""
        return self.distribution[self.order]


@dataclass(frozen=True)
class Layer:
    """One layer's maps, by head, of one kind: what is drawn large. Arrays are read-only.

    Attributes:
        scores, live, weights: (H, queries, keys), as in Trace.
    """

    scores: ndarray
    live: ndarray
    weights: ndarray

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return self.scores.nbytes + self.live.nbytes + self.weights.nbytes


@dataclass(frozen=True, kw_only=True)
class Said:
    """What one forward pass came to, whatever is kept of its maps. Arrays are read-only.

    Attributes:
        rows: name -> tokens: `text`, what was typed; `target`, what the model writes, where it writes.
        norms: kind -> (L, H, N) norm of each head's gated output, before W_O.
        outputs: a prediction for each position that the text asks about, in order.
        losses: (tokens,) nats for the target of each position; NaN where none is known. Of a text whose
            translation is known they are the translation's, a token each.
        prompt: the text as it was read.
        vectors: (tokens, C) the last hidden vectors, of a model that predicts nothing; else None.
        written: what the model wrote under the plan; empty where it writes nothing; None of an anchored text under a
            plan, where writing takes longer than the maps: Lab.rewrite says it.
        gates: kind -> (L, H, N) the gates that the model computes itself, 0 to 1; nothing where its type has none.
    """

    rows: Mapping[str, tuple[str, ...]]
    norms: Mapping[str, ndarray]
    outputs: tuple[Output, ...]
    losses: ndarray
    prompt: Prompt
    vectors: ndarray | None = None
    written: str | None = ""
    gates: Mapping[str, ndarray] = field(default_factory=dict)

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
        """Memory of the arrays; one that serves twice counts once."""
        return sum({id(array): array.nbytes for array in self._arrays()}.values())

    def _arrays(self) -> list[ndarray]:
        found = [*self.norms.values(), *self.gates.values(), self.losses,
                 *(output.distribution for output in self.outputs)]
        return found if self.vectors is None else [*found, self.vectors]


@dataclass(frozen=True, kw_only=True)
class Trace(Said):
    """What one forward pass did. L layers, H heads, N queries, M keys of a kind; a kind's maps are (L, H, N, M).

    Attributes:
        scores: kind -> what is normalised: after scale and mask (-inf), before F.
        live: kind -> weights that the model computes.
        weights: kind -> weights that the plan lets through.
        mask: F, (L, N, N), of selective attention; else None.
    """

    scores: Mapping[str, ndarray]
    live: Mapping[str, ndarray]
    weights: Mapping[str, ndarray]
    mask: ndarray | None

    def layer(self, kind: str, layer: int) -> Layer:
        """One layer's maps."""
        return Layer(self.scores[kind][layer], self.live[kind][layer], self.weights[kind][layer])

    def _arrays(self) -> list[ndarray]:
        maps = [array for kinds in (self.scores, self.live, self.weights) for array in kinds.values()]
        return [*super()._arrays(), *maps, *([] if self.mask is None else [self.mask])]


@dataclass(frozen=True, kw_only=True)
class Sketch(Said):
    """What one forward pass did, maps small.

    Attributes:
        thumbnails: kind -> (L, H, n, m) uint8, the weights that the plan lets through; see models.thumbnails.
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


def divergence(before: Output, after: Output) -> float:
    """KL(before ‖ after) in nats, at least 0: what is lost by believing `after` where `before` holds."""
    p, q = before.distribution.astype(numpy.float64), after.distribution.astype(numpy.float64)
    seen = p > 0
    return max(0.0, float((p[seen] * numpy.log(p[seen] / numpy.maximum(q[seen], 1e-30))).sum()))


def entropy(weights: ndarray) -> ndarray:
    """(..., N, M) rows that sum to 1 -> (..., N) their entropy in nats, 0 to ln M."""
    logs = numpy.log(weights, out=numpy.zeros_like(weights), where=weights > 0)
    return (weights * -logs).sum(-1) + 0.0  # + 0.0 turns -0.0 into 0.0


def row_entropy(weights: ndarray) -> ndarray:
    """`entropy` of rows that need not sum to 1, as relu²'s: each is made to sum to 1 first."""
    return entropy(weights / weights.sum(-1, keepdims=True).clip(1e-9))


def sink(weights: ndarray) -> ndarray:
    """(..., N, M) weights -> (...) how much the first key gets, a mean over all queries but the first, which sees no
    other; 0 of a single token."""
    return weights[..., 1:, 0].mean(-1) if weights.shape[-2] > 1 else numpy.zeros(weights.shape[:-2])


def fixed(array: ndarray) -> ndarray:
    """The array, read-only from now on: visitors share traces."""
    array.flags.writeable = False
    return array
