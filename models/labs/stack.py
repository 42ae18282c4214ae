"""StackLab: our own models behind the protocol of models/lab.py. The one place where plans become tensors and records
become traces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy
import torch
from numpy import ndarray
from torch import Tensor

from models.generate import decoding
from models.generate.sampling import GREEDY, Sampling
from models.kind import SELF, TEXT, Kind
from models.lab import Touch, UnderGates, Watch
from models.labs.trained import TrainedLab
from models.nets import row_sums
from models.nets.attention import TYPES
from models.nets.attention.base import UNTOUCHED, Intervention, Record, SelfAttention, beside_untouched
from models.nets.attention.selective import selection
from models.nets.constants import normalised
from models.nets.transformer import Transformer
from models.plan import TRAINED, HeadPlan, Scale
from models.prompt import Prompt
from models.trace import Output, Trace, fixed


@dataclass(frozen=True, eq=False)
class StackLab(TrainedLab):
    """A trained Transformer of ours."""

    model: Transformer = field(repr=False)

    @property
    def attention(self) -> type[SelfAttention]:
        """The attention type's module."""
        return TYPES[self.model.config.attention]

    def constant_of(self, kind: str, layer: int, queries: int, keys: int, scale: Scale = TRAINED) -> ndarray:
        return self._constant(layer, queries, scale).numpy()

    def _constant(self, layer: int, n: int, scale: Scale) -> Tensor:
        matrices = cut(self.constant[SELF][layer], n, n, self.kinds[0])
        masses = self.card.get(row_sums.KEY)
        return row_sums.with_mass(matrices, row_sums.at(masses, scale.policy, layer, n)) if masses else matrices

    def selected(self, scores: ndarray) -> ndarray | None:
        """S of a layer: what each query asks to forget; None of attention that does not select.

        Args:
            scores: (H, N, N), a layer's of a Trace.
        """
        return selection(torch.tensor(scores[None]))[0].numpy() if self.attention.selects else None

    @property
    def can_forget(self) -> bool:
        return self.task.writes and self.attention.selects and decoding.can_decode(self.model)

    def write_within(self, prompt: Prompt, budgets: Sequence[int], plan: HeadPlan = HeadPlan(),
                     count: int = 40, sampling: Sampling = GREEDY) -> Iterator[decoding.Step]:
        longest = min(len(prompt.ids) + count, self.limit)
        decoder = decoding.Decoder(self.model, 1, longest, budgets, self.interventions(plan, longest))
        return decoding.continuation(decoder, prompt.ids, self.task.labels, sampling)

    def interventions(self, plan: HeadPlan, n: int) -> list[Intervention] | None:
        """The plan as tensors, one Intervention a layer, for a text of n tokens; None for the empty plan.

        Raises:
            ValueError: the plan names a head or a scale that this model hasn't.
        """
        if not plan:
            return None
        self.check(plan)
        attentions = [block.attention for block in self.model.blocks]
        return interventions_of(plan, self.kinds[0], attentions, n, lambda layer: self._constant(layer, n, plan.scale))

    @torch.inference_mode()
    def run(self, prompt: Prompt, plans: Sequence[HeadPlan]) -> list[Trace]:
        """One forward pass over a batch that holds the prompt once for each plan; only the last may be no empty one."""
        records: list[Record] = []
        n = len(prompt.ids)
        interventions = self.interventions(plans[-1], n)
        if interventions and len(plans) > 1:
            trained = [block.attention.factor(TRAINED, n) for block in self.model.blocks]
            interventions = [beside_untouched(*pair) for pair in zip(interventions, trained, strict=True)]
        hidden = self.model(torch.tensor([prompt.ids] * len(plans)), interventions, records)
        wanted = sorted({*prompt.asked, *(i for i, target in enumerate(prompt.targets) if target >= 0)})
        log_probabilities = self.model.logits(hidden[:, wanted]).log_softmax(-1).numpy()
        return [self._trace(prompt, plan, records, row, dict(zip(wanted, log_probabilities[row], strict=True)))
                for row, plan in enumerate(plans)]

    def _trace(self, prompt: Prompt, plan: HeadPlan, records: list[Record], row: int,
               log_probabilities: dict[int, ndarray]) -> Trace:
        """The Trace of one row of the batch; `log_probabilities` by position."""
        losses = numpy.full(len(prompt.ids), numpy.nan, dtype=numpy.float32)
        for position, target in enumerate(prompt.targets):
            if target >= 0:
                losses[position] = -log_probabilities[position][target]
        live = stacked(record.live[row] for record in records)
        masks = [record.mask[row] for record in records if record.mask is not None]
        gates = [record.gates[row] for record in records if record.gates is not None]
        constants = any(state.constant for state in plan.heads.values())
        return Trace(
            rows={TEXT: prompt.tokens},
            scores={SELF: stacked(record.scores[row] for record in records)},
            live={SELF: live},
            weights={SELF: stacked(record.weights[row] for record in records) if constants else live},
            mask=stacked(masks) if masks else None,
            norms={SELF: stacked(record.norms[row] for record in records)},
            gates={SELF: stacked(gates)} if gates else {},
            outputs=tuple(Output(p, fixed(numpy.exp(log_probabilities[p])), self.task.labels, prompt.targets[p])
                          for p in prompt.asked),
            losses=fixed(losses), prompt=prompt)

    def under_gates(self, prompt: Prompt) -> UnderGates:
        ids = torch.tensor([prompt.ids])

        def log_probabilities(gates: Mapping[str, Tensor], places: Sequence[int]) -> Tensor:
            its = gates[SELF]
            hidden = self.model(ids.expand(len(its), -1), gates_of_layers(its))
            return self.model.logits(hidden[:, list(places)]).log_softmax(-1)

        return log_probabilities

    def states(self, batch: Tensor, touch: Touch = lambda kind, layer: UNTOUCHED,
               watch: Watch | None = None) -> list[Tensor]:
        records: list[Record] | None = None if watch is None else []
        layers = [touch(SELF, layer) for layer in range(self.kinds[0].layers)]
        found = list(self.model.states(batch, layers, records))
        if watch is not None:
            for layer, record in enumerate(records or ()):
                watch(SELF, layer, record.weights)
        return found

    @torch.inference_mode()
    def generate(self, prompt: Prompt, plan: HeadPlan = HeadPlan(), count: int = 40,
                 sampling: Sampling = GREEDY) -> Iterator[str]:
        """Every step is a whole forward pass, so constant heads, gates and F mean what they mean in `run`."""
        ids = list(prompt.ids)
        for _ in range(min(count, self.limit - len(ids))):
            hidden = self.model(torch.tensor([ids]), self.interventions(plan, len(ids)))[0, -1]
            ids.append(sampling.choose(self.model.logits(hidden), len(ids)))
            if ids[-1] == 0:
                return
            yield self.task.labels[ids[-1]]


def interventions_of(plan: HeadPlan, kind: Kind, attentions: Sequence[SelfAttention], n: int,
                     constant_of: Callable[[int], Tensor]) -> list[Intervention]:
    """What a plan does to the layers of a kind, as tensors.

    Args:
        attentions: the kind's layers.
        n: keys that there are.
        constant_of: a layer -> (H, N, M) its constant matrices.
    """
    constant = [[False] * kind.heads for _ in range(kind.layers)]
    gates = [[1.0] * kind.heads for _ in range(kind.layers)]
    for (name, layer, head), state in plan.heads.items():
        if name == kind.name:
            constant[layer][head], gates[layer][head] = state.constant, state.gate
    is_constant, gate = torch.tensor(constant)[..., None, None], torch.tensor(gates)[..., None, None]
    return [Intervention(
        is_constant=is_constant[layer] if any(constant[layer]) else None,
        constant=constant_of(layer) if any(constant[layer]) else None,
        gate=gate[layer] if min(gates[layer]) < 1 else None,
        factor=None if plan.scale == TRAINED else attention.factor(plan.scale, n),
    ) for layer, attention in enumerate(attentions)]


def gates_of_layers(gates: Tensor) -> list[Intervention]:
    """(B, L, H) gates of a kind as what a pass of B rows takes, one Intervention a layer."""
    return [Intervention(gate=layer[..., None, None]) for layer in gates.unbind(1)]


def cut(matrices: Tensor, queries: int, keys: int, kind: Kind) -> Tensor:
    """A layer's constant matrices (H, limit, limit) for a text of this size: PAPA's mean, cut and normalised anew.

    Under a causal mask row i reads keys 0..i only, so cutting leaves rows that still sum to 1. Rows of relu²
    do not sum to 1 in the first place; they are cut, and what they weigh is another matter (models/nets/row_sums.py).
    A row that had all its weight beyond the text, as that of a head which looks four words ahead, weighs all keys
    alike.
    """
    whole = keys == matrices.shape[-1]
    matrices = matrices[:, :queries, :keys]
    if kind.causal or not kind.attention.is_distribution or whole:
        return matrices
    return normalised(matrices, causal=False)


def stacked(layers: Iterable[Tensor]) -> ndarray:
    """(L, ...) float32, read-only, of tensors one a layer."""
    return fixed(torch.stack(list(layers)).float().numpy())
