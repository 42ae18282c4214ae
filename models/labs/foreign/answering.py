"""The explanations of an imported model from its residual stream; see running/residual.py."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from models.capabilities import Explainable
from models.errors import InputError, StructureError
from models.kind import SELF
from models.lab import predicting_position, predicting_positions
from models.labs.foreign.reading.readers import CausalReader, MaskedReader
from models.labs.foreign.running import residual
from models.labs.foreign.running.attention import FORBIDDEN, ForwardPass, LayerRecord, during
from models.labs.foreign.running.passes import PassLab
from models.labs.foreign.running.positions import BodyOutput, at_positions
from models.messages import message
from models.nets.attention.base import Intervention
from models.nets.attention.patching import Patch, each_alone
from models.nets.residual import Residuals, ScoreParts, Writes
from models.plan import Address, HeadPlan
from models.prompt import Prompt
from models.trace import Trace

MOST_NUMBERS = 2**20  # largest number of values in the hidden states, or in one head's maps, of a batch


class _Pass:
    """One recorded pass: hidden states and outputs of heads at all positions, logits at the first, and the head."""

    def __init__(self, lab: PassLab, prompt: Prompt, plan: HeadPlan, positions: Sequence[int]) -> None:
        assert lab.body is not None
        residual.listen(lab.model, lab.sites)
        outputs: list[tuple[int, Tensor]] = []

        def sink(kind: str, layer: int, step: LayerRecord) -> None:
            outputs.append((len(record.calls) - 1, step.outputs[:, list(positions)]))

        inputs: dict[str, Any] = dict(lab.task.inputs(prompt))
        body = BodyOutput(positions[:1])  # all logits of 512 tokens at 262,144 entries would be 537 MB
        with at_positions(body), residual.recording(positions) as record:
            self.logits: Tensor = lab.forward(inputs, prompt, plan, sink).logits[0].float()
        if not record.states:
            raise StructureError(message("its layers do not pass one hidden state per token"))
        self.states, self.layers, self.calls = record.states, record.layers, record.calls
        self.outputs = dict(outputs)
        self.has_one = len(self.outputs) == len(outputs)
        self.head = residual.head_of(lab.model, lab.body, inputs, body._output, self.states[-1], positions)


class Answering(PassLab, Explainable):
    """The methods of Explainable for an imported model."""

    def _check_explains(self) -> None:
        if len(self.kinds) > 1:
            raise StructureError(message("not available for imported encoder-decoders"))
        if not isinstance(self.task, (CausalReader, MaskedReader)):
            raise StructureError(message("this model predicts no tokens"))
        if self.body is None:
            raise StructureError(message("its language-model head cannot run by itself"))

    @torch.inference_mode()
    def residuals(self, prompt: Prompt, plan: HeadPlan) -> tuple[Residuals, tuple[str, ...]]:
        self._check_explains()
        self.check(plan)
        positions = predicting_positions(prompt, self.kinds[0])
        done = _Pass(self, prompt, plan, positions)
        return Residuals(tuple(positions), torch.stack(done.states), done.head.logits), prompt.tokens

    @torch.no_grad()
    def writes(self, prompt: Prompt, plan: HeadPlan, position: int = -1, trace: Trace | None = None) -> Writes:
        self._check_explains()
        self.check(plan)
        position = predicting_position(prompt, self.kinds[0], position)
        done = _Pass(self, prompt, plan, [position])
        states = [state[0] for state in done.states]
        if not done.has_one:
            raise StructureError(message("this model's layers have several attentions"))
        heads, rest, biases = [], {"embedding": states[0]}, torch.zeros_like(states[0])
        for layer, module in enumerate(done.layers):
            if layer not in done.outputs:
                rest[f"layer {layer}"] = states[layer + 1] - states[layer]
                continue
            of_heads, bias, mlp = residual.layer_writes(states[layer], states[layer + 1], module, done.calls[layer],
                                                        done.outputs[layer][:, 0])
            heads.append(of_heads)
            rest[f"mlp {layer}"] = mlp
            biases = biases + bias
        if float(biases.abs().max()) > residual.TOLERANCE * float(states[-1].abs().max()):
            rest["biases"] = biases
        gain, is_centred, shift = residual.final_gain(done.head.norm, states[-1])
        normed = done.head.normed(states[-1].unsqueeze(0))[0]
        return Writes(position, {SELF: torch.stack(heads)}, rest, gain, is_centred, shift,
                      lambda tokens: residual.unembedding(done.head, normed, tokens), done.logits[0],
                      torch.stack(states), lambda states: done.head.logits(states.unsqueeze(-2)).squeeze(-2))

    def score_parts(self, prompt: Prompt, plan: HeadPlan, address: Address, query: int, key: int) -> ScoreParts:
        """Returns the parts by head dimension, and what the model adds to q·k."""
        self.check(HeadPlan().gate(*address, 0.0))
        kind, layer, head = address
        parts: list[ScoreParts] = []

        def sink(block: str, number: int, step: LayerRecord) -> None:
            if (block, number) != (kind, layer):
                return
            queries, keys = step.scores.shape[-2:]
            if not (0 <= query < queries and 0 <= key < keys) or float(step.scores[head, query, key]) <= FORBIDDEN:
                raise InputError(message("position {query} does not attend to position {key}", query=query, key=key))
            if step.vectors is None:
                raise StructureError(message("its scores are more than one product of query and key"))
            of_queries, of_keys, factors = step.vectors
            factor = float(factors.expand(len(of_queries), queries, 1)[head, query, 0])
            dimensions = factor * of_queries[head, query].double() * of_keys[head, key].double()
            score = float(step.scores[head, query, key])
            parts.append(ScoreParts(score, dimensions, float(dimensions.sum()), score - float(dimensions.sum()), (), (),
                                    torch.zeros(0, 0), factor, False, 0.0, float(step.live[head, query, key])))

        self.watch(prompt, plan, sink)
        return parts[0]

    @torch.inference_mode()
    def patched_logits(self, prompt: Prompt, addresses: Sequence[Address | None], what: str,
                       position: int = -1) -> Tensor:
        self._check_explains()
        self.check(plan := HeadPlan().with_heads(filter(None, addresses), patch=what))
        position = predicting_position(prompt, self.kinds[0], position)
        inputs: dict[str, Any] = dict(self.task.inputs(prompt))
        values = self.source_values(inputs, prompt, plan)
        width = max(len(prompt.ids), self.model.config.get_text_config().hidden_size)
        together = max(1, MOST_NUMBERS // (len(prompt.ids) * width))
        logits = []
        for start in range(0, len(addresses), together):
            part = addresses[start:start + together]
            given = {name: value.expand(len(part), *value.shape[1:]) if isinstance(value, Tensor) else value
                     for name, value in inputs.items()}
            patch = _patches(each_alone(part, values, what))
            with during(ForwardPass(self.sites, patch)), at_positions(BodyOutput([position])):
                logits.append(self.model(**given).logits[:, 0].float())
        return torch.cat(logits)


def _patches(patches: Mapping[tuple[str, int], Patch]) -> Callable[[str, int, int, int], Intervention]:
    return lambda kind, layer, queries, keys: Intervention(patch=patches.get((kind, layer)))
