"""StackLab: the Lab adapter of our Transformers with one token sequence."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy
import torch
from numpy import ndarray
from torch import Tensor
from typing_extensions import override

from models.capabilities import Forgets, GatedLogProbabilities, HasStates, Touch, Watch
from models.generate import decoding
from models.generate.decoding import GREEDY, Sampling
from models.kind import SELF, TEXT
from models.lab import predicting_position, predicting_positions
from models.labs.trained import Recorded, SourceValues, TrainedLab, gates_of_layers, source_values_of, stacked
from models.nets.attention import TYPES
from models.nets.attention.base import NO_INTERVENTION, Intervention, Record, SelfAttention, with_baseline
from models.nets.attention.patching import each_alone
from models.nets.mean_patterns import ROW_SUMS, row_sum_at, with_row_sum
from models.nets.residual import Residuals, Writes, residuals_of, writes_of
from models.nets.transformer import Transformer
from models.plan import PATTERN, TRAINED, Address, HeadPlan, Scale
from models.prompt import Prompt
from models.trace import Output, Trace, fixed


@dataclass(frozen=True, eq=False)
class StackLab(TrainedLab, HasStates, Forgets):
    """A trained Transformer of ours."""

    model: Transformer = field(repr=False)

    @property
    def attention(self) -> type[SelfAttention]:
        """The attention type's class."""
        return TYPES[self.model.config.attention]

    @override
    def constant_pattern(self, kind: str, layer: int, queries: int, keys: int, scale: Scale = TRAINED) -> Tensor:
        matrices = super().constant_pattern(kind, layer, queries, keys, scale)
        sums = self.card.get(ROW_SUMS)
        return with_row_sum(matrices, row_sum_at(sums, scale.policy, layer, keys)) if sums else matrices

    @property
    @override
    def can_forget(self) -> bool:
        return self.task.writes and self.attention.selects and decoding.can_decode(self.model)

    @override
    def write_within(self, prompt: Prompt, budgets: Sequence[int], plan: HeadPlan = HeadPlan(),
                     count: int = 40, sampling: Sampling = GREEDY) -> Iterator[decoding.Step]:
        longest = min(len(prompt.ids) + count, self.limit)
        decoder = decoding.Decoder(self.model, 1, longest, budgets, self.interventions(plan, longest))
        return decoding.continuation(decoder, prompt.ids, self.task.labels, sampling)

    def interventions(self, plan: HeadPlan, n: int, source: SourceValues | None = None) -> list[Intervention] | None:
        """Returns one Intervention per layer for n tokens, None for the empty plan; raises the errors of `check`."""
        by_kind = self.interventions_of(plan, {TEXT: n}, source)
        return None if by_kind is None else by_kind[SELF]

    @torch.inference_mode()
    def source_values(self, prompt: Prompt, plan: HeadPlan) -> SourceValues:
        """Runs a pass over the second prompt and returns the values for patched heads; empty without patches."""
        source = prompt.source_for(plan)
        if source is None:
            return {}
        records: list[Record] = []
        self.model(torch.tensor([source.ids]), records=records)
        return source_values_of({SELF: records})

    @torch.inference_mode()
    def run(self, prompt: Prompt, plans: Sequence[HeadPlan]) -> list[Trace]:
        """Runs one forward pass over a batch with one row per plan; only the last plan may be non-empty.

        With patches, each plan has a separate pass, because the row in a batch changes the last bits of the results.
        Thus patching from the same prompt changes nothing.
        """
        if plans[-1].patches and len(plans) > 1:
            return [trace for plan in plans for trace in self.run(prompt, [plan])]
        records: list[Record] = []
        n = len(prompt.ids)
        interventions = self.interventions(plans[-1], n, self.source_values(prompt, plans[-1]))
        if interventions and len(plans) > 1:
            trained = [block.attention.factor(TRAINED, n) for block in self.model.blocks]
            interventions = [with_baseline(*pair) for pair in zip(interventions, trained, strict=True)]
        hidden = self.model(torch.tensor([prompt.ids] * len(plans)), interventions, records)
        wanted = sorted({*prompt.predict_at, *(i for i, target in enumerate(prompt.targets) if target >= 0)})
        numbers = self.model.logits(hidden[:, wanted]).log_softmax(-1).numpy()
        return [self._trace(prompt, plan, records, row, dict(zip(wanted, numbers[row], strict=True)))
                for row, plan in enumerate(plans)]

    def _trace(self, prompt: Prompt, plan: HeadPlan, records: list[Record], row: int,
               log_probabilities: dict[int, ndarray]) -> Trace:
        """Returns the Trace of one row of the batch; `log_probabilities` maps positions to (V,)."""
        losses = numpy.full(len(prompt.ids), numpy.nan, dtype=numpy.float32)
        for position, target in enumerate(prompt.targets):
            if target >= 0:
                losses[position] = -log_probabilities[position][target]
        live = stacked(record.live[row] for record in records)
        masks = [record.mask[row] for record in records if record.mask is not None]
        gates = [record.gates[row] for record in records if record.gates is not None]
        is_changed = any(state.constant or state.patch == PATTERN for state in plan.heads.values())
        return Trace(
            rows={TEXT: prompt.tokens},
            scores={SELF: stacked(record.scores[row] for record in records)},
            live={SELF: live},
            weights={SELF: stacked(record.weights[row] for record in records) if is_changed else live},
            mask=stacked(masks) if masks else None,
            head_outputs={SELF: stacked(record.outputs[row] for record in records)},
            norms={SELF: stacked(record.norms[row] for record in records)},
            gates={SELF: stacked(gates)} if gates else {},
            outputs=tuple(Output(p, fixed(numpy.exp(log_probabilities[p])), self.task.labels, prompt.targets[p])
                          for p in prompt.predict_at),
            losses=fixed(losses), prompt=prompt)

    @override
    @torch.inference_mode()
    def recorded(self, prompt: Prompt, plan: HeadPlan) -> Recorded:
        records: list[Record] = []
        interventions = self.interventions(plan, len(prompt.ids), self.source_values(prompt, plan))
        hidden = self.model(torch.tensor([prompt.ids]), interventions, records)[0]
        return {TEXT: prompt.ids}, {SELF: records}, hidden

    @override
    @torch.inference_mode()
    def residuals(self, prompt: Prompt, plan: HeadPlan) -> tuple[Residuals, tuple[str, ...]]:
        positions = predicting_positions(prompt, self.kinds[0])
        outputs = {SELF: [record.outputs[0] for record in self.recorded(prompt, plan)[1][SELF]]}
        return residuals_of(self.model, prompt.ids, outputs, positions), prompt.tokens

    @override
    @torch.inference_mode()
    def writes(self, prompt: Prompt, plan: HeadPlan, position: int = -1, trace: Trace | None = None) -> Writes:
        trace = trace or self.run(prompt, [plan])[0]
        return writes_of(self.model, prompt.ids, trace.head_outputs,
                         predicting_position(prompt, self.kinds[0], position))

    @override
    @torch.inference_mode()
    def patched_logits(self, prompt: Prompt, addresses: Sequence[Address | None], what: str,
                       position: int = -1) -> Tensor:
        values = self.source_values(prompt, HeadPlan().with_heads(filter(None, addresses), patch=what))
        patches = each_alone(addresses, values, what)
        interventions = [Intervention(patch=patches.get((SELF, layer))) for layer in range(self.kinds[0].layers)]
        hidden = self.model(torch.tensor([prompt.ids] * len(addresses)), interventions)
        return self.model.logits(hidden[:, predicting_position(prompt, self.kinds[0], position)])

    @override
    def gated_log_probabilities(self, prompt: Prompt, constant: bool = False) -> GatedLogProbabilities:
        ids = torch.tensor([prompt.ids])
        constants = self.constant_layers({TEXT: len(prompt.ids)}) if constant else {}

        def log_probabilities(gates: Mapping[str, Tensor], positions: Sequence[int]) -> Tensor:
            rows = gates[SELF]
            hidden = self.model(ids.expand(len(rows), -1), gates_of_layers(rows, constants.get(SELF)))
            return self.model.logits(hidden[:, list(positions)]).log_softmax(-1)

        return log_probabilities

    @override
    def states(self, batch: Tensor, touch: Touch = lambda kind, layer: NO_INTERVENTION,
               watch: Watch | None = None) -> list[Tensor]:
        records: list[Record] | None = None if watch is None else []
        layers = [touch(SELF, layer) for layer in range(self.kinds[0].layers)]
        states = list(self.model.states(batch, layers, records))
        if watch is not None:
            for layer, record in enumerate(records or ()):
                watch(SELF, layer, record.weights)
        return states

    @torch.inference_mode()
    def generate(self, prompt: Prompt, plan: HeadPlan = HeadPlan(), count: int = 40,
                 sampling: Sampling = GREEDY) -> Iterator[str]:
        """Yields the tokens of a continuation; heads are patched at the prompt's positions only.

        Each token needs a full pass, so that plans and the selective mask F have the same effect as in `run`.
        """
        ids = list(prompt.ids)
        source = self.source_values(prompt, plan)
        for _ in range(min(count, self.limit - len(ids))):
            hidden = self.model(torch.tensor([ids]), self.interventions(plan, len(ids), source))[0, -1]
            ids.append(sampling.choose(self.model.logits(hidden), len(ids)))
            if ids[-1] == 0:
                return
            yield self.task.labels[ids[-1]]
