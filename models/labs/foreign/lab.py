"""ForeignLab: any model of transformers behind the protocol of models/lab.py."""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from models.capabilities import GatedLogProbabilities, HasStates, ReadsPictures, Touch, Watch
from models.generate.decoding import GREEDY, Sampling
from models.labs.foreign.answering import Answering
from models.labs.foreign.opening.facts import NO_SOFTMAX, text_config
from models.labs.foreign.reading.chat import ChatReader
from models.labs.foreign.reading.readers import CausalReader, Seq2SeqReader
from models.labs.foreign.reading.vision import PicturePrompt, PictureReader
from models.labs.foreign.running import passes, writing
from models.labs.foreign.running.attention import ForwardPass, LayerRecord, Sink, during
from models.labs.foreign.running.passes import FullRecorder, ThumbnailRecorder
from models.labs.foreign.running.positions import BodyOutput, at_positions
from models.nets.attention.base import NO_INTERVENTION, Intervention
from models.plan import PATTERN, HeadPlan
from models.prompt import Prompt
from models.trace import Layer, Sketch, Trace, fixed

_numbers = itertools.count(1)


class ForeignLab(Answering, HasStates, ReadsPictures):
    """An imported model, which models.labs.foreign.opening.folder creates after a successful comparison."""

    @property
    def layer_types(self) -> tuple[tuple[str, bool], ...]:
        """The (type in the config, has attention maps) of every layer; empty if all layers have attention maps."""
        types = getattr(text_config(self.task.config), "layer_types", None) or ()
        return tuple((name, name not in NO_SOFTMAX) for name in types) if NO_SOFTMAX.intersection(types) else ()

    @property
    def trained_length(self) -> int:
        return self.task.trained_length

    @property
    def longest(self) -> int | None:
        return self.task.longest

    @functools.cached_property
    def nbytes(self) -> int:
        tensors = [*self.model.parameters(), *self.model.buffers(), *(self.constant or {}).values()]
        return sum(tensor.nbytes for tensor in tensors)

    @property
    def parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.model.parameters())

    @functools.cached_property
    def fingerprint(self) -> str:
        """The SHA-256 digest of the parameters without the model's head, because probes read only the hidden states."""
        digest = hashlib.sha256()
        for name, tensor in sorted(self.model.base_model.named_parameters()):
            digest.update(name.encode() + tensor.numpy().tobytes())
        return digest.hexdigest()

    @functools.cached_property
    def identity(self) -> str:
        """The name and a number of this object: a folder can change, and visitors compute different matrices."""
        return f"{self.name} {next(_numbers)}"

    @functools.cached_property
    def in_chat(self) -> ForeignLab:
        """The same model in its tokenizer's chat template, as in Lab."""
        if not isinstance(self.task, CausalReader) or isinstance(self.task, ChatReader) or not self.task.chats:
            return self
        chat = replace(self, task=ChatReader.of(self.task))
        vars(chat)["identity"] = self.identity  # results depend on the prompt, which contains the template's tokens
        return chat

    def with_constant(self, constant: Mapping[str, Tensor]) -> ForeignLab:
        """Returns the same model with these constant matrices; see models.labs.foreign.running.constants."""
        for kind, (layers, heads) in self.shape.items():
            if tuple(constant[kind].shape[:2]) != (layers, heads):
                raise ValueError(f"{self.name}: constant matrices of {kind} are not for {layers} x {heads} heads")
        return replace(self, constant=constant)

    def read(self, text: str, limit: int | None = None) -> Prompt:
        return self.task.read(text, limit or self.limit)

    def read_picture(self, data: bytes) -> PicturePrompt:
        """Returns the prompt of a picture's bytes; raises InputError if it is not a picture or the model reads text."""
        if not isinstance(self.task, PictureReader):
            raise ValueError(f"{self.name} reads text")
        return self.task.read_picture(data)

    def anchored(self, prompt: Prompt) -> Prompt:
        return writing.with_target(self, prompt) if isinstance(self.task, Seq2SeqReader) else prompt

    def forced(self, prompt: Prompt, target: str) -> Prompt:
        if not (isinstance(self.task, Seq2SeqReader) and target.strip()):
            return prompt
        return writing.forced(self, self.task, prompt, target)

    def rewrite(self, prompt: Prompt, plan: HeadPlan) -> str:
        self.check(plan)
        if not isinstance(self.task, Seq2SeqReader):
            return ""
        return self.task.wrote(tuple(writing.write(self, self.task, prompt, plan)))

    def gated_log_probabilities(self, prompt: Prompt, constant: bool = False) -> GatedLogProbabilities:
        if not (prompt.predict_at or isinstance(self.task, Seq2SeqReader)):
            raise ValueError(f"{self.name} predicts nothing")
        if constant and self.constant is None:
            raise ValueError(f"{self.name}: it has no constant matrices yet")
        inputs: dict[str, Any] = dict(self.task.inputs(prompt))
        if isinstance(self.task, Seq2SeqReader):
            target = writing.with_target(self, prompt).target
            inputs |= {"decoder_input_ids": torch.tensor([target]), "use_cache": False}

        def log_probabilities(gates: Mapping[str, Tensor], positions: Sequence[int]) -> Tensor:
            def intervention(kind: str, layer: int, queries: int, keys: int) -> Intervention:
                gate = gates[kind][:, layer, :, None, None]
                if not constant:
                    return Intervention(gate=gate)
                return Intervention(constant=self._constant(kind, layer, queries, keys, prompt), share=1 - gate)

            count = len(next(iter(gates.values())))
            given = {name: value.expand(count, *value.shape[1:]) if isinstance(value, Tensor) else value
                     for name, value in inputs.items()}
            with during(ForwardPass(self.sites, intervention)):
                if self.body is None:
                    logits = self.task.logits(self.model(**given))
                    # a class is predicted once for the whole text
                    logits = logits[:, list(positions)] if logits.ndim > 2 else logits.unsqueeze(1)
                else:
                    with at_positions(BodyOutput(positions)):
                        logits = self.model(**given).logits
            return logits.float().log_softmax(-1)

        return log_probabilities

    def states(self, batch: Tensor, touch: Touch = lambda kind, layer: NO_INTERVENTION,
               watch: Watch | None = None) -> list[Tensor]:
        if len(self.kinds) > 1 or isinstance(self.task, PictureReader):
            raise ValueError(f"{self.name} is no model of one text")
        # the language-model head is not run, because logits of the whole vocabulary take longer than a layer
        with during(ForwardPass(self.sites, lambda kind, layer, *_: touch(kind, layer), watch=watch)):
            return [*self.model.base_model(input_ids=batch, attention_mask=torch.ones_like(batch),
                                           output_hidden_states=True, **self.task.settings).hidden_states]

    def grid_positions(self, n: int, size: int) -> Sequence[int]:
        return range(n) if self.kinds[0].causal else passes.grid_positions(n, size)

    def run(self, prompt: Prompt, plans: Sequence[HeadPlan]) -> list[Trace]:
        return [self._trace(prompt, plan) for plan in plans]

    def _trace(self, prompt: Prompt, plan: HeadPlan) -> Trace:
        sink = FullRecorder(self.kinds, any(state.constant or state.patch == PATTERN for state in plan.heads.values()))
        fields = self._pass(prompt, plan, sink)
        return Trace(**fields, norms=sink.of("norms"), scores=sink.of("scores"), live=sink.of("live"),
                     weights=sink.of("weights"), mask=None)

    def sketch(self, prompt: Prompt, plans: Sequence[HeadPlan]) -> list[Sketch]:
        """Returns the result of `run` without full maps: at most one layer's maps are in memory at any time."""
        sketches = []
        for plan in plans:
            sink = ThumbnailRecorder(self.kinds)
            sketches.append(Sketch(**self._pass(prompt, plan, sink), norms=sink.norms, thumbnails=sink.thumbnails,
                                   sizes=sink.sizes))
        return sketches

    def layer(self, prompt: Prompt, plan: HeadPlan, kind: str, layer: int) -> Layer:
        """Runs a forward pass that stores the maps of one layer only, and returns these maps."""
        stored: list[Layer] = []

        def sink(block: str, number: int, step: LayerRecord) -> None:
            if (block, number) == (kind, layer):
                live = fixed(step.live.numpy())
                weights = live if step.weights is step.live else fixed(step.weights.numpy())
                stored.append(Layer(fixed(step.scores.numpy()), live, weights))

        self._pass(prompt, plan, sink)
        if not stored:
            raise ValueError(f"{self.name} has no layer {layer} of {kind}")
        return stored[0]

    def watch(self, prompt: Prompt, plan: HeadPlan, sink: Sink) -> None:
        """Runs a pass and calls `sink` with each layer's record."""
        self._pass(prompt, plan, sink)

    @torch.inference_mode()
    def _pass(self, prompt: Prompt, plan: HeadPlan, sink: Sink) -> dict[str, Any]:
        """Runs one recorded pass; returns the fields that a Trace and a Sketch share, without the norms."""
        self.check(plan)
        if isinstance(self.task, Seq2SeqReader):
            answer, rows, written = writing.run_with_target(self, self.task, prompt, plan, sink)
        else:
            answer = self.task.answer(prompt, self.result(self.task.inputs(prompt), prompt, plan, sink))
            rows, written = self.task.rows(prompt, ()), ""
        return {"rows": rows, "outputs": answer.outputs, "losses": answer.losses, "prompt": prompt,
                "vectors": answer.vectors, "written": written}

    @torch.inference_mode()
    def generate(self, prompt: Prompt, plan: HeadPlan = HeadPlan(), count: int = 40,
                 sampling: Sampling = GREEDY) -> Iterator[str]:
        """Yields the tokens of a continuation, with a full pass per token; an encoder-decoder is always greedy."""
        self.check(plan)
        if isinstance(self.task, Seq2SeqReader):
            steps = writing.write(self, self.task, prompt, plan, count)
        elif self.task.writes:
            steps = writing.continue_text(self, self.task, prompt, plan, count, sampling)
        else:
            return
        yield from writing.as_text(self.task, steps)
