"""Trace: the result of one forward pass; Sketch: the same with thumbnails in place of maps; measures of patterns."""

import functools
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields

import numpy
from numpy import ndarray

from models.kind import TEXT, Kind
from models.prompt import Prompt
from models.thumbnails import thumbnails


@dataclass(frozen=True)
class Output:
    """The predicted distribution over the vocabulary at one position.

    Attributes:
        position: index of the token after which the prediction is made.
        distribution: (V,) float32 probabilities, in the vocabulary's order.
        names: the V tokens as strings, in the vocabulary's order.
        target: id of the target token if it is known, else -1.
        row: the token sequence that `position` indexes, TEXT or TARGET.
    """

    position: int
    distribution: ndarray
    names: tuple[str, ...]
    target: int = -1
    row: str = TEXT

    @functools.cached_property
    def order(self) -> ndarray:
        """The ids (V,), the most probable first."""
        return numpy.argsort(-self.distribution, kind="stable")

    def top(self, count: int = 1) -> ndarray:
        """Returns the first ids of `order` without sorting and keeping all V ids.

        Args:
            count: number of ids, or V if V is smaller.
        """
        if count >= len(self.distribution):
            return self.order
        least = -numpy.partition(-self.distribution, count - 1)[count - 1]
        ids = numpy.flatnonzero(~(self.distribution < least))
        return ids[numpy.argsort(-self.distribution[ids], kind="stable")][:count]

    @property
    def labels(self) -> list[str]:
        """The V tokens as strings, the most probable first."""
        return [self.names[i] for i in self.order]

    @property
    def probabilities(self) -> ndarray:
        """The probabilities (V,) in float32, the highest first; they sum to 1."""
        return self.distribution[self.order]


class Arrays:
    """A dataclass whose fields are arrays or tensors, mappings to them, or small values."""

    @property
    def nbytes(self) -> int:
        """Memory of the arrays in bytes."""
        values = vars(self).values()
        arrays = [array for value in values for array in (value.values() if isinstance(value, Mapping) else [value])]
        return sum(getattr(array, "nbytes", 0) for array in arrays)


@dataclass(frozen=True)
class Layer(Arrays):
    """The attention maps of one layer of one block. Arrays are read-only.

    Attributes:
        scores, live, weights: (H, queries, keys), as in Trace.
    """

    scores: ndarray
    live: ndarray
    weights: ndarray


@dataclass(frozen=True, kw_only=True)
class PassResult:
    """The results of one forward pass other than its attention maps. Arrays are read-only.

    Attributes:
        rows: name of a token sequence -> its tokens: `text`, the input; for an encoder-decoder also `target`, the
            decoder's tokens.
        norms: kind -> (L, H, N) Euclidean norm of each head's gated output, before W_O.
        outputs: one prediction per position of `prompt.predict_at`, in order.
        losses: (tokens,) loss in nats for the target of each position; NaN without a target.
        prompt: the prompt of the pass.
        vectors: (tokens, C) the last hidden states of a model without predictions; else None.
        written: the text that the model generated under the plan. It is empty for a model without a decoder, and None
            for a teacher-forced target under a plan, for which `Lab.rewrite` generates the text.
        gates: kind -> (L, H, N) gates that the model computes, 0 to 1; empty if its attention type has none.
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
        """The tokens of the input text."""
        return list(self.rows[TEXT])

    @property
    def output(self) -> Output | None:
        """The last prediction; None if there is none."""
        return self.outputs[-1] if self.outputs else None

    @property
    def loss(self) -> float:
        """The mean of the losses that are not NaN, in nats; NaN if there is none."""
        known = self.losses[~numpy.isnan(self.losses)]
        return float(known.mean()) if known.size else float("nan")

    @property
    def nbytes(self) -> int:
        """The memory of the arrays in bytes; a shared array counts once."""
        return sum({id(array): array.nbytes for array in self._arrays()}.values())

    def _arrays(self) -> list[ndarray]:
        arrays = [*self.norms.values(), *self.gates.values(), self.losses,
                  *(output.distribution for output in self.outputs)]
        return arrays if self.vectors is None else [*arrays, self.vectors]


@dataclass(frozen=True, kw_only=True)
class Trace(PassResult):
    """The result of one forward pass. A block's maps are (L, H, N, M): layers, heads, queries, keys.

    Attributes:
        scores: kind -> scores before normalisation: scaled and masked (-inf), before the mask F is subtracted.
        live: kind -> attention patterns as the model computes them, before the plan.
        weights: kind -> attention patterns after the plan.
        mask: the selective mask F (accumulated votes), (L, N, N); None for other attention types.
        head_outputs: kind -> (L, H, N, D) outputs of the heads after the plan, before W_O; empty for imported models.
    """

    scores: Mapping[str, ndarray]
    live: Mapping[str, ndarray]
    weights: Mapping[str, ndarray]
    mask: ndarray | None
    head_outputs: Mapping[str, ndarray] = field(default_factory=dict)

    def layer(self, kind: str, layer: int) -> Layer:
        """Returns the maps of one layer."""
        return Layer(self.scores[kind][layer], self.live[kind][layer], self.weights[kind][layer])

    def _arrays(self) -> list[ndarray]:
        maps = [array for kinds in (self.scores, self.live, self.weights) for array in kinds.values()]
        return [*super()._arrays(), *maps, *self.head_outputs.values(), *([] if self.mask is None else [self.mask])]


@dataclass(frozen=True, kw_only=True)
class Sketch(PassResult):
    """The result of one forward pass with thumbnails in place of maps: 144 maps at 512 tokens take 151 MB.

    Attributes:
        thumbnails: kind -> (L, H, n, m) uint8 thumbnails of the patterns after the plan; see models.thumbnails.
        sizes: kind -> (N, M), numbers of queries and of keys of the full maps.
    """

    thumbnails: Mapping[str, ndarray]
    sizes: Mapping[str, tuple[int, int]]

    def _arrays(self) -> list[ndarray]:
        return [*super()._arrays(), *self.thumbnails.values()]


def bytes_of_maps(kinds: Iterable[Kind], lengths: Mapping[str, int]) -> int:
    """Returns the memory of a Trace's scores and weights in bytes; `lengths`: token sequence -> number of tokens."""
    return sum(2 * 4 * kind.layers * kind.heads * lengths[kind.query_row] * lengths[kind.key_row] for kind in kinds)


def sketch_of(trace: Trace, sinks: Collection[str] = ()) -> Sketch:
    """Returns the Sketch of a Trace; `sinks` are blocks with an attention sink, the last column of their thumbnails."""
    small = {kind: fixed(thumbnails(maps, kind in sinks)) for kind, maps in trace.weights.items()}
    sizes = {kind: (maps.shape[-2], maps.shape[-1]) for kind, maps in trace.weights.items()}
    shared = {field.name: getattr(trace, field.name) for field in fields(PassResult)}
    return Sketch(**shared, thumbnails=small, sizes=sizes)


def divergence(before: Output, after: Output) -> float:
    """Returns KL(before ‖ after) in nats, at least 0."""
    p, q = before.distribution.astype(numpy.float64), after.distribution.astype(numpy.float64)
    seen = p > 0
    return max(0.0, float((p[seen] * numpy.log(p[seen] / numpy.maximum(q[seen], 1e-30))).sum()))


def entropy(weights: ndarray) -> ndarray:
    """Returns the entropy (..., N) in nats, 0 to ln M, of rows (..., N, M) that sum to 1."""
    logs = numpy.log(weights, out=numpy.zeros_like(weights), where=weights > 0)
    return (weights * -logs).sum(-1) + 0.0  # adding 0.0 turns -0.0 into 0.0


def row_entropy(weights: ndarray) -> ndarray:
    """Returns the entropy of rows that are first divided by their sums, because rows of relu² do not sum to 1."""
    return entropy(weights / weights.sum(-1, keepdims=True).clip(1e-9))


def sink(weights: ndarray) -> ndarray:
    """Returns the mean weight (...) on the first key, without the first query; 0 for a single token."""
    return weights[..., 1:, 0].mean(-1) if weights.shape[-2] > 1 else numpy.zeros(weights.shape[:-2])


def with_sink(weights: ndarray) -> ndarray:
    """Returns patterns (..., N, M) with the sink as one more column (..., N, M + 1); rows then sum to 1."""
    return numpy.concatenate([weights, (1 - weights.sum(-1, keepdims=True)).clip(0)], axis=-1)


def scores_with_sink(scores: ndarray, live: ndarray) -> ndarray:
    """Returns scores (..., N, M) with the sink's score as one more column.

    A head's sink has one score for all queries. Minus the score of the strongest key, it is the logarithm of the ratio
    of their weights; it is computed at the query at which the sink has the largest weight. `live` is the softmax over
    the keys and the sink, without the sink's column.
    """
    strongest = live.argmax(-1)[..., None]
    best, score = (numpy.take_along_axis(array, strongest, -1) for array in (live, scores))
    weight = with_sink(live)[..., -1:]
    query = weight.argmax(-2)[..., None]
    weight, best, score = (numpy.take_along_axis(array, query, -2) for array in (weight, best, score))
    with numpy.errstate(divide="ignore"):
        sink = score + numpy.log(weight / best)
    return numpy.concatenate([scores, numpy.broadcast_to(sink, (*scores.shape[:-1], 1))], axis=-1)


def fixed(array: ndarray) -> ndarray:
    """Returns the array, made read-only, because visitors share traces."""
    array.flags.writeable = False
    return array


def vector_shift(before: Trace | Sketch, after: Trace | Sketch) -> tuple[ndarray, float]:
    """Returns 1 - cosine of output vectors, 0 to 2: of each token (tokens,), and of the mean vector."""
    if before.vectors is None or after.vectors is None:
        raise ValueError("this model predicts something; its vectors are not kept")
    old, new = before.vectors.astype(numpy.float64), after.vectors.astype(numpy.float64)
    return _turned(old, new), float(_turned(old.mean(0), new.mean(0)))


def _turned(old: ndarray, new: ndarray) -> ndarray:
    """Returns 1 - cosine (...) of vectors (..., C); exactly 0 if nothing changed."""
    norms = numpy.linalg.norm(old, axis=-1) * numpy.linalg.norm(new, axis=-1)
    cosine = (old * new).sum(-1) / numpy.maximum(norms, 1e-30)
    return numpy.where((old == new).all(-1), 0.0, 1 - cosine.clip(-1, 1))
