"""PassLab: the forward passes of an imported model under a plan, which record all maps or thumbnails of them.

Constant matrices are on a grid of positions, by PAPA's rules (arXiv 2211.03495 and its code). CLS has the first
position and the last SEP has the last position of the grid, for every text length. In a pair of texts, the first SEP
and the tokens after it start in the middle of the grid. Tokens of a causal model are at their own positions, so the
matrices only need to be cut.
"""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy
import torch
from numpy import ndarray
from torch import Tensor, nn

from models.kind import TEXT, Kind
from models.lab import Lab
from models.labs.foreign.reading.readers import TextReader
from models.labs.foreign.reading.vision import PictureReader
from models.labs.foreign.running.attention import ForwardPass, LayerRecord, Sink, during
from models.labs.foreign.running.positions import BLOCK_NUMBERS, Result, at_positions
from models.nets.attention.base import NO_INTERVENTION, Intervention, intervention_of
from models.nets.attention.patching import Values
from models.nets.mean_patterns import cut_to
from models.plan import TRAINED, Address, HeadPlan, Scale
from models.prompt import Prompt
from models.thumbnails import thumbnails
from models.trace import fixed

SIZES = 4  # largest number of cut matrices that a model caches; each is for one block and one text size


def grid_positions(n: int, size: int, first_break: int | None = None) -> list[int]:
    """Returns the positions of n tokens of an encoder on a grid: 0, 1, 2, 7 for `[CLS] a b [SEP]` and size 8."""
    if n > size:
        raise ValueError(f"constant matrices are for texts of at most {size} tokens; this one has {n}")
    last, half = n - 1, size // 2
    if first_break is not None and first_break <= half and last - first_break <= size - half:
        return [*range(first_break), *range(half, half + last - first_break), size - 1]
    return [*range(last), size - 1]


def fitted(matrices: Mapping[str, Tensor], task: TextReader, kind: Kind, queries: int, keys: int,
           separator: int | None) -> Tensor:
    """Returns a block's matrices cut to a text, (L, H, queries, keys); `separator` is that of first_break."""
    matrix = matrices[kind.name]
    size = matrix.shape[-1]
    if max(queries, keys) > size:
        raise ValueError(f"constant matrices are for texts of at most {size} tokens; this one has {max(queries, keys)}")
    rows, columns = grid(task, kind, queries, keys, size, separator)
    return cut_to(matrix, rows, columns, kind.causal)


def grid(task: TextReader, kind: Kind, queries: int, keys: int, size: int,
         separator: int | None) -> tuple[Tensor, Tensor]:
    """Returns the positions of a text's queries and keys on a grid of this size."""
    def positions(row: str, n: int) -> Sequence[int]:
        return grid_positions(n, size, separator) if row == TEXT and not _is_cut(task, kind) else range(n)

    return torch.tensor(positions(kind.query_row, queries)), torch.tensor(positions(kind.key_row, keys))


def first_break(task: TextReader, kind: Kind, prompt: Prompt | None) -> int | None:
    """Returns the index of the separator between two texts; None if the tokens are not a pair."""
    if prompt is None or _is_cut(task, kind):
        return None
    separator = task.tokenizer.sep_token_id
    return next((i for i, token in enumerate(prompt.ids[:-1]) if i and token == separator), None)


def _is_cut(task: TextReader, kind: Kind) -> bool:
    """Returns True if the tokens are at their own positions, so that the matrices only need to be cut."""
    return kind.causal or isinstance(task, PictureReader)


@dataclass(frozen=True, eq=False)
class PassLab(Lab):
    """An imported model and its forward passes."""

    name: str
    task: TextReader
    model: Any = field(repr=False)  # of transformers, in evaluation mode, float32; a pass stores nothing on the model
    sites: Mapping[nn.Module, str] = field(repr=False)  # attention module -> its attention block
    kinds: tuple[Kind, ...] = ()
    # the module that supports models.labs.foreign.running.positions; None for a model without a head that reads every
    # token
    body: nn.Module | None = field(default=None, repr=False)
    # block -> (L, H, size, size) PAPA's mean matrices on the grid of `grid_positions`; or None
    constant: Mapping[str, Tensor] | None = field(default=None, repr=False)
    card: Mapping[str, Any] = field(default_factory=dict, repr=False)  # always empty
    closed: frozenset[Address] = frozenset()  # heads that are missing from the checkpoint's weights

    @property
    def limit(self) -> int:
        return self.task.limit if self.size is None else min(self.task.limit, self.size)

    @property
    def size(self) -> int | None:
        """The number of tokens of the longest text that the constant matrices cover; None without matrices."""
        return None if self.constant is None else max(matrix.shape[-1] for matrix in self.constant.values())

    def constant_of(self, kind: str, layer: int, queries: int, keys: int, scale: Scale = TRAINED) -> ndarray | None:
        matrix = self._constant(kind, layer, queries, keys, None)
        return None if matrix is None else matrix.numpy()

    def _constant(self, kind: str, layer: int, queries: int, keys: int, prompt: Prompt | None) -> Tensor | None:
        """Returns constant patterns (H, queries, keys); a `prompt` can be a pair of texts."""
        if self.constant is None:
            return None
        block = self.kind(kind)
        return self._fitted(block, queries, keys, first_break(self.task, block, prompt))[layer]

    @functools.cached_property
    def _fitted(self) -> Callable[[Kind, int, int, int | None], Tensor]:
        assert self.constant is not None
        return functools.lru_cache(SIZES)(functools.partial(fitted, self.constant, self.task))

    @abc.abstractmethod
    def watch(self, prompt: Prompt, plan: HeadPlan, sink: Sink) -> None:
        """Runs a pass and calls `sink` with each layer's record."""

    def forward(self, inputs: Mapping[str, Any], prompt: Prompt, plan: HeadPlan, sink: Sink | None = None,
                module: nn.Module | None = None) -> Any:
        """Returns the output for these inputs under the plan, of the model or, if given, of its part `module`."""
        base = plan.scale.base if plan.scale.policy == "logn" else None
        source = self.source_values(inputs, prompt, plan, module)
        with during(ForwardPass(self.sites, self._interventions(prompt, plan, source), base, sink)):
            return (module or self.model)(**inputs)

    def source_values(self, inputs: Mapping[str, Any], prompt: Prompt, plan: HeadPlan,
                      module: nn.Module | None = None) -> dict[tuple[str, int], Values]:
        """Runs the second prompt with the same decoder tokens: (block, layer) -> values; empty without patches."""
        source = prompt.source_for(plan)
        if source is None:
            return {}
        values: dict[tuple[str, int], Values] = {}

        def sink(kind: str, layer: int, step: LayerRecord) -> None:
            values[kind, layer] = Values(step.weights, step.outputs)

        own = self.task.inputs(source)
        same = {name: value for name, value in inputs.items() if name in ("decoder_input_ids", "use_cache")}
        with during(ForwardPass(self.sites, lambda *_: NO_INTERVENTION, sink=sink)), at_positions(None):
            (module or self.model)(**own, **{name: value for name, value in same.items() if name not in own})
        return values

    def result(self, inputs: Mapping[str, Any], prompt: Prompt, plan: HeadPlan, sink: Sink | None = None) -> Result:
        """Runs the model under the plan; too many logits are computed on request, by position."""
        row = inputs.get("decoder_input_ids", inputs.get("input_ids"))
        count = 0 if row is None else row.shape[1] * self.task.vocabulary
        limited = self.body is not None and count > BLOCK_NUMBERS
        return Result(lambda: self.forward(inputs, prompt, plan, sink), limited)

    def _interventions(self, prompt: Prompt, plan: HeadPlan,
                       source: Mapping[tuple[str, int], Values]) -> Callable[[str, int, int, int], Intervention]:
        if not plan.heads:
            return lambda kind, layer, queries, keys: NO_INTERVENTION
        of_layers = {(kind, layer): intervention_of(plan, kind, layer, heads, source)
                     for kind, (layers, heads) in self.shape.items() for layer in range(layers)}

        def intervention(kind: str, layer: int, queries: int, keys: int) -> Intervention:
            given = of_layers[kind, layer]
            if given.is_constant is None:
                return given
            return replace(given, constant=self._constant(kind, layer, queries, keys, prompt))

        return intervention


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
        """Returns block -> array (L, ...) of `scores`, `live`, `weights` (`live` without constants) or `norms`."""
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
