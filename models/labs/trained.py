"""TrainedLab: the base class of the adapters of our own models; converts a HeadPlan to Interventions."""

import abc
import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from numpy import ndarray
from torch import Tensor
from typing_extensions import override

from models.capabilities import Explainable
from models.errors import InputError
from models.kind import Kind
from models.messages import message
from models.nets.attention import kinds_of
from models.nets.attention.base import Intervention, Record, intervention_of
from models.nets.attention.patching import Values
from models.nets.mean_patterns import normalised
from models.nets.residual import ScoreParts, score_parts
from models.nets.transformer import Model
from models.plan import TRAINED, Address, HeadPlan, Scale
from models.prompt import Prompt
from models.tasks.base import Reader
from models.trace import fixed

SourceValues = Mapping[tuple[str, int], Values]  # (block, layer) -> its values; empty without a second prompt
Recorded = tuple[Mapping[str, Sequence[int]], dict[str, list[Record]], Tensor]


@dataclass(frozen=True, eq=False)
class TrainedLab(Explainable):
    """A trained model of ours with its task, its constant matrices and its card."""

    name: str
    task: Reader
    model: Model = field(repr=False)  # in evaluation mode, float32
    constant: Mapping[str, Tensor] = field(repr=False)
    card: Mapping[str, Any] = field(repr=False)

    @functools.cached_property
    @override
    def kinds(self) -> tuple[Kind, ...]:
        return kinds_of(self.model.config)

    @property
    @override
    def trained_length(self) -> int:
        return self.model.config.trained_length

    @property
    @override
    def limit(self) -> int:
        return self.model.limit(self.task.limit)

    @property
    @override
    def longest(self) -> int | None:
        return self.model.longest

    @functools.cached_property
    @override
    def nbytes(self) -> int:
        return sum(tensor.nbytes for tensor in [*self.model.state_dict().values(), *self.constant.values()])

    @property
    @override
    def parameters(self) -> int:
        return self.model.parameter_count()

    @property
    @override
    def fingerprint(self) -> str:
        return str(self.card.get("weights", {}).get("model.safetensors", ""))

    def constant_pattern(self, kind: str, layer: int, queries: int, keys: int, scale: Scale = TRAINED) -> Tensor:
        """Returns a layer's constant patterns (H, queries, keys); see `Lab.constant_of`."""
        return cut(self.constant[kind][layer], queries, keys, self.kind(kind))

    @override
    def constant_of(self, kind: str, layer: int, queries: int, keys: int, scale: Scale = TRAINED) -> ndarray:
        return self.constant_pattern(kind, layer, queries, keys, scale).numpy()

    def interventions_of(self, plan: HeadPlan, lengths: Mapping[str, int],
                         source: SourceValues | None = None) -> dict[str, list[Intervention]] | None:
        """Returns block -> one Intervention per layer, or None for the empty plan.

        `lengths` counts the tokens of each sequence (TEXT, TARGET); `source` has the values for patched heads. Raises
        ValueError if the model has not the plan's heads, constant patterns or scale, or a patch has no source.
        """
        if not plan:
            return None
        self.check(plan)
        if plan.patches and not source:
            raise ValueError(message("this computation has no second prompt for patched heads"))
        values = source or {}
        return {kind.name: [self._intervention(plan, kind, layer, lengths, values) for layer in range(kind.layers)]
                for kind in self.kinds}

    def _intervention(self, plan: HeadPlan, kind: Kind, layer: int, lengths: Mapping[str, int],
                      source: SourceValues) -> Intervention:
        queries, keys = lengths[kind.query_row], lengths[kind.key_row]
        of_heads = intervention_of(plan, kind.name, layer, kind.heads, source)
        factor = None if plan.scale == TRAINED else self.model.attentions(kind.name)[layer].factor(plan.scale, keys)
        constant = None if of_heads.is_constant is None else \
            self.constant_pattern(kind.name, layer, queries, keys, plan.scale)
        return replace(of_heads, constant=constant, factor=factor)

    def constant_layers(self, lengths: Mapping[str, int]) -> dict[str, list[Tensor]]:
        """Returns block -> the constant patterns (H, queries, keys) of each layer; `lengths` as in interventions_of."""
        return {kind.name: [self.constant_pattern(kind.name, layer, lengths[kind.query_row], lengths[kind.key_row])
                            for layer in range(kind.layers)] for kind in self.kinds}

    @override
    def read(self, text: str, limit: int | None = None) -> Prompt:
        return self.task.read(text, limit or self.limit)

    @abc.abstractmethod
    def recorded(self, prompt: Prompt, plan: HeadPlan) -> Recorded:
        """Runs a pass: sequence -> ids, block -> records, hidden states (N, C) of the predicting sequence."""

    @override
    @torch.inference_mode()
    def score_parts(self, prompt: Prompt, plan: HeadPlan, address: Address, query: int, key: int) -> ScoreParts:
        self.check(HeadPlan().gate(*address, 0.0))
        ids, records, _ = self.recorded(prompt, plan)
        kind = self.kind(address[0])
        queries, keys = len(ids[kind.query_row]), len(ids[kind.key_row])
        if not (0 <= query < queries and 0 <= key < keys) or kind.causal and key > query:
            raise InputError(message("position {query} does not attend to position {key}", query=query, key=key))
        attention = self.model.attentions(kind.name)[address[1]]
        factor = attention.trained_factor(keys) if plan.scale == TRAINED else attention.factor(plan.scale, keys)
        rows = {block.name: ids[block.query_row] for block in self.kinds}
        return score_parts(self.model, rows, records, address, query, key, factor)


def source_values_of(records: Mapping[str, Sequence[Record]]) -> SourceValues:
    """Returns the values for patched heads, from the records of a pass over the second prompt."""
    return {(kind, layer): record.patch_values for kind, layers in records.items()
            for layer, record in enumerate(layers)}


def gates_of_layers(gates: Tensor, constants: Sequence[Tensor] | None = None) -> list[Intervention]:
    """Returns gates (B, L, H) of a block as one Intervention per layer, for a pass of B rows.

    Constant patterns (H, N, M) of each layer, if given, get the share 1 - gate of the attention pattern; otherwise the
    gates multiply the heads' outputs.
    """
    layers = [layer[..., None, None] for layer in gates.unbind(1)]
    if constants is None:
        return [Intervention(gate=layer) for layer in layers]
    return [Intervention(constant=constant, share=1 - layer) for layer, constant in zip(layers, constants, strict=True)]


def cut(matrices: Tensor, queries: int, keys: int, kind: Kind) -> Tensor:
    """Returns a layer's constant matrices (H, limit, limit) cut to a text of this size, with rows that sum to 1.

    Under a causal mask, row i reads keys 0..i only, so cut rows still sum to 1. Rows of relu² do not sum to 1 and are
    only cut; mean_patterns.with_row_sum scales them. If all weight of a row is on keys beyond the text, as for a head
    that attends four words ahead, the row becomes uniform.
    """
    whole = keys == matrices.shape[-1]
    matrices = matrices[:, :queries, :keys]
    if kind.causal or not kind.attention.is_distribution or whole:
        return matrices
    return normalised(matrices, causal=False)


def stacked(layers: Iterable[Tensor]) -> ndarray:
    """Returns one read-only float32 array (L, ...) from one tensor per layer."""
    return fixed(torch.stack(list(layers)).float().numpy())
