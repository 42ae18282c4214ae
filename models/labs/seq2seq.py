"""Seq2SeqLab: the Lab adapter of our encoder-decoders.

A Trace records one pass over the text and the generated target. The decoder's tokens are `start` and the target. There
is a prediction after each of these tokens; the last prediction is `end` if the model generated `end`.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy
import torch
from torch import Tensor
from typing_extensions import override

from models.capabilities import GatedLogProbabilities
from models.generate.seq2seq_decoding import write
from models.kind import CROSS, DECODER, ENCODER, TARGET, TEXT
from models.lab import position_among
from models.labs.trained import Recorded, SourceValues, TrainedLab, gates_of_layers, source_values_of, stacked
from models.nets.attention.base import Intervention, Record
from models.nets.attention.patching import each_alone
from models.nets.config import END, START
from models.nets.residual import Residuals, Writes, residuals_of, writes_of
from models.nets.seq2seq import Seq2Seq
from models.plan import PATTERN, Address, HeadPlan
from models.prompt import Prompt, TargetPrompt, readable
from models.tasks.pairs import BEAM, PairReader
from models.trace import Output, Trace, fixed


@dataclass(frozen=True, eq=False)
class Seq2SeqLab(TrainedLab):
    """A trained encoder-decoder of ours."""

    task: PairReader
    model: Seq2Seq = field(repr=False)

    @functools.cached_property
    def closed(self) -> frozenset[Address]:
        """Returns the heads that training pruned, whose slices of W_O are 0; see studies/prune_heads.py."""
        return frozenset(
            (kind, layer, head) for kind in (ENCODER, DECODER, CROSS)
            for layer, attention in enumerate(self.model.attentions(kind))
            for head, values in enumerate(attention.output.weight.unflatten(1, (self.model.config.heads, -1)).unbind(1))
            if not values.any())

    @functools.cached_property
    def target_limit(self) -> int:
        """The largest number of tokens that the decoder reads, including `start`."""
        return self.model.target_limit(self.task.target_limit)

    def interventions(self, plan: HeadPlan, text: int, target: int,
                      source: SourceValues | None = None) -> dict[str, list[Intervention]] | None:
        """Returns block -> one Intervention per layer, or None for the empty plan; raises the errors of `check`."""
        return self.interventions_of(plan, {TEXT: text, TARGET: target}, source)

    @torch.inference_mode()
    def source_values(self, prompt: Prompt, plan: HeadPlan, target: Sequence[int]) -> SourceValues:
        """Runs a pass over the second prompt with the same decoder tokens; the result is empty without patches."""
        source = prompt.source_for(plan)
        if source is None:
            return {}
        records: dict[str, list[Record]] = {ENCODER: [], DECODER: [], CROSS: []}
        self.model(torch.tensor([source.ids]), torch.tensor([target]), records=records)
        return source_values_of(records)

    def translate(self, prompt: Prompt, plan: HeadPlan = HeadPlan(), beam: int = BEAM) -> tuple[int, ...]:
        """Returns the token ids of the output under the plan, including `end` if the model generated it."""
        source = prompt.source_for(plan)
        interventions = self.interventions(plan, len(prompt.ids), self.target_limit,
                                           self.source_values(prompt, plan, (START,)))
        return write(self.model, [prompt.ids], beam, interventions, self.target_limit,
                     sources=None if source is None else [source.ids])[0].ids

    @override
    def rewrite(self, prompt: Prompt, plan: HeadPlan) -> str:
        return self.task.written(self.translate(prompt, plan))

    @override
    def anchored(self, prompt: Prompt) -> TargetPrompt:
        return prompt if isinstance(prompt, TargetPrompt) else TargetPrompt.of(prompt, self._row(prompt, HeadPlan()))

    @override
    def forced(self, prompt: Prompt, target: str) -> Prompt:
        ids = self.task.tokenizer.encode(self.task.clean(readable(target)), add_special_tokens=False).ids
        return TargetPrompt.of(prompt, (START, *ids)[:self.target_limit]) if ids else prompt

    def _row(self, prompt: Prompt, plan: HeadPlan) -> tuple[int, ...]:
        """Returns the decoder's tokens: `start` and the output under the plan, without `end`."""
        return (START, *(i for i in self.translate(prompt, plan) if i != END))[:self.target_limit]

    @override
    def gated_log_probabilities(self, prompt: Prompt, constant: bool = False) -> GatedLogProbabilities:
        ids, target = torch.tensor([prompt.ids]), torch.tensor([self.anchored(prompt).target])
        constants = self.constant_layers({TEXT: ids.shape[1], TARGET: target.shape[1]}) if constant else {}

        def log_probabilities(gates: Mapping[str, Tensor], positions: Sequence[int]) -> Tensor:
            count = len(gates[ENCODER])
            hidden = self.model(ids.expand(count, -1), target.expand(count, -1),
                                {kind: gates_of_layers(rows, constants.get(kind)) for kind, rows in gates.items()})
            return self.model.logits(hidden[:, list(positions)]).log_softmax(-1)

        return log_probabilities

    @override
    @torch.inference_mode()
    def recorded(self, prompt: Prompt, plan: HeadPlan) -> Recorded:
        target = prompt.target if isinstance(prompt, TargetPrompt) else self._row(prompt, plan)
        records: dict[str, list[Record]] = {ENCODER: [], DECODER: [], CROSS: []}
        interventions = self.interventions(plan, len(prompt.ids), len(target), self.source_values(prompt, plan, target))
        hidden = self.model(torch.tensor([prompt.ids]), torch.tensor([target]), interventions, records)[0]
        return {TEXT: prompt.ids, TARGET: target}, records, hidden

    @override
    @torch.inference_mode()
    def residuals(self, prompt: Prompt, plan: HeadPlan) -> tuple[Residuals, tuple[str, ...]]:
        ids, records, _ = self.recorded(prompt, plan)
        target = ids[TARGET]
        outputs = {kind: [record.outputs[0] for record in layers] for kind, layers in records.items()}
        return residuals_of(self.model, target, outputs, range(len(target))), self.task.spelled(target)

    @override
    @torch.inference_mode()
    def writes(self, prompt: Prompt, plan: HeadPlan, position: int = -1, trace: Trace | None = None) -> Writes:
        target = prompt.target if isinstance(prompt, TargetPrompt) else self._row(prompt, plan)
        trace = trace or self._run(TargetPrompt.of(prompt, target), plan)
        return writes_of(self.model, target, trace.head_outputs,
                         position_among(position, range(len(target)), len(target)))

    @override
    @torch.inference_mode()
    def patched_logits(self, prompt: Prompt, addresses: Sequence[Address | None], what: str,
                       position: int = -1) -> Tensor:
        target = self.anchored(prompt).target
        values = self.source_values(prompt, HeadPlan().with_heads(filter(None, addresses), patch=what), target)
        patches = each_alone(addresses, values, what)
        interventions = {kind: [Intervention(patch=patches.get((kind, layer))) for layer in range(layers)]
                         for kind, (layers, _) in self.shape.items()}
        ids, targets = (torch.tensor([row] * len(addresses)) for row in (prompt.ids, target))
        hidden = self.model(ids, targets, interventions)
        return self.model.logits(hidden[:, position_among(position, range(len(target)), len(target))])

    def run(self, prompt: Prompt, plans: Sequence[HeadPlan]) -> list[Trace]:
        """Runs a pass per plan; without a teacher-forced target the decoder generates under the plan."""
        return [self._run(prompt, plan) for plan in plans]

    @torch.inference_mode()
    def _run(self, prompt: Prompt, plan: HeadPlan) -> Trace:
        is_anchored = isinstance(prompt, TargetPrompt)
        ids, records, hidden = self.recorded(prompt, plan)
        target = ids[TARGET]
        probabilities = self.model.logits(hidden).softmax(-1).numpy()
        live = {kind: stacked(record.live[0] for record in layers) for kind, layers in records.items()}
        changed = {kind for (kind, _, _), state in plan.heads.items() if state.constant or state.patch == PATTERN}
        mask = records[DECODER][0].mask
        return Trace(
            rows={TEXT: prompt.tokens, TARGET: self.task.spelled(target)},
            scores={kind: stacked(record.scores[0] for record in layers) for kind, layers in records.items()},
            live=live,
            weights={kind: stacked(record.weights[0] for record in layers) if kind in changed else live[kind]
                     for kind, layers in records.items()},
            head_outputs={kind: stacked(record.outputs[0] for record in layers) for kind, layers in records.items()},
            mask=None if mask is None else stacked(r.mask[0] for r in records[DECODER] if r.mask is not None),
            norms={kind: stacked(record.norms[0] for record in layers) for kind, layers in records.items()},
            outputs=tuple(Output(position, fixed(distribution), self.task.labels, row=TARGET)
                          for position, distribution in enumerate(probabilities)),
            losses=fixed(numpy.full(len(prompt.ids), numpy.nan, numpy.float32)), prompt=prompt,
            written=None if is_anchored and plan else self.task.written(target))
