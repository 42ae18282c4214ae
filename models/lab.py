"""Lab: the protocol of a loaded model, ours or imported; immutable and shared by all visitors."""

from __future__ import annotations

import abc
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from numpy import ndarray

from models.errors import InputError
from models.generate.decoding import GREEDY, Sampling
from models.kind import Kind, policies_of, shape_of
from models.messages import message
from models.plan import TRAINED, Address, HeadPlan, Scale
from models.prompt import Prompt
from models.tasks.base import Reader
from models.trace import Layer, Sketch, Trace, sketch_of


class Lab(abc.ABC):
    """A loaded model; read-only and safe between threads.

    Attributes:
        name: for example "stories-selective".
        task: the reader, which converts texts to prompts, and predictions to words.
        kinds: the attention blocks of the model, in the order in which data flows through the model.
        constant: kind -> (L, H, size, size) constant matrices; None if none have been computed yet.
        card: the content of card.json; empty for an imported model.
    """

    name: str
    task: Reader
    constant: Mapping[str, Any] | None
    card: Mapping[str, Any]

    @property
    @abc.abstractmethod
    def kinds(self) -> tuple[Kind, ...]:
        """The attention blocks, in the order in which data flows through the model."""

    @property
    @abc.abstractmethod
    def trained_length(self) -> int:
        """Number of tokens of the longest training text: the default reference length of the log n scale."""

    @property
    @abc.abstractmethod
    def limit(self) -> int:
        """Largest number of tokens of an input text, BOS included; constant patterns have this size."""

    @property
    @abc.abstractmethod
    def longest(self) -> int | None:
        """Largest number of tokens that the model has parameters for; None if there is no such limit."""

    @property
    @abc.abstractmethod
    def nbytes(self) -> int:
        """Memory of parameters and constant patterns, bytes."""

    @property
    @abc.abstractmethod
    def parameters(self) -> int:
        """Number of parameters."""

    @property
    def closed(self) -> frozenset[Address]:
        """Heads that training pruned; no plan can restore them."""
        return frozenset()

    @property
    @abc.abstractmethod
    def fingerprint(self) -> str:
        """SHA-256 digest of the parameters."""

    @abc.abstractmethod
    def read(self, text: str, limit: int | None = None) -> Prompt:
        """Returns the prompt of a text; raises InputError if nothing in the text can be tokenised."""

    @property
    def in_chat(self) -> Lab:
        """The same model, which reads texts in its tokenizer's chat template; itself if `task.chats` is False."""
        return self

    def anchored(self, prompt: Prompt) -> Prompt:
        """Returns the prompt with the baseline output as teacher-forced target: the same tokens under every plan.

        For a model without a decoder, the prompt is returned unchanged. `rewrite` generates the output under a plan.
        """
        return prompt

    def forced(self, prompt: Prompt, target: str) -> Prompt:
        """Returns the prompt with a typed text as teacher-forced target, cut to the decoder's limit.

        Without a decoder or a token in the text, the prompt is returned unchanged.
        """
        return prompt

    def rewrite(self, prompt: Prompt, plan: HeadPlan) -> str:
        """Returns the decoder's output under the plan; empty for a model without encoder and decoder."""
        return ""

    @abc.abstractmethod
    def run(self, prompt: Prompt, plans: Sequence[HeadPlan]) -> list[Trace]:
        """Runs one forward pass per plan.

        Args:
            plans: one plan, or the empty plan and one other plan.

        Returns:
            One Trace per plan.

        Raises:
            ValueError: a plan names a head or a scale that this model does not have.
        """

    def sketch(self, prompt: Prompt, plans: Sequence[HeadPlan]) -> list[Sketch]:
        """Returns the result of `run` with thumbnails in place of the maps; `layer` returns full maps of one layer."""
        return [sketch_of(trace) for trace in self.run(prompt, plans)]

    def layer(self, prompt: Prompt, plan: HeadPlan, kind: str, layer: int) -> Layer:
        """Runs a forward pass and returns the maps of one layer."""
        return self.run(prompt, [plan])[0].layer(kind, layer)

    @abc.abstractmethod
    def constant_of(self, kind: str, layer: int, queries: int, keys: int, scale: Scale = TRAINED) -> ndarray | None:
        """Returns a layer's constant patterns (H, queries, keys), or None if there are none.

        For relu², the rows of the constant patterns are scaled to the mean row sum of computed patterns under `scale`.
        """

    def generate(self, prompt: Prompt, plan: HeadPlan = HeadPlan(), count: int = 40,
                 sampling: Sampling = GREEDY) -> Iterator[str]:
        """Yields the tokens of a continuation under the plan; yields nothing if the model does not generate text."""
        return iter(())

    @property
    def identity(self) -> str:
        """The key of the model in caches: the model's name, and a number if a visitor computed constant matrices."""
        return self.name

    @property
    def shape(self) -> dict[str, tuple[int, int]]:
        """Attention block -> (layers, heads)."""
        return shape_of(self.kinds)

    def kind(self, name: str) -> Kind:
        """Returns the attention block of this name; raises KeyError."""
        return {kind.name: kind for kind in self.kinds}[name]

    def check(self, plan: HeadPlan) -> None:
        """Raises ValueError if the plan names a head, a constant matrix or a scale that this model does not have."""
        if outside := plan.within(self.shape)[1]:
            raise ValueError(f"{self.name}: {'; '.join(outside)}")
        if plan.scale.policy not in policies_of(self.kinds):
            raise ValueError(f"{self.name}: a scale of {plan.scale.policy} means nothing to this kind of attention")
        if not self.constant and any(state.constant for state in plan.heads.values()):
            raise ValueError(f"{self.name}: it has no constant matrices yet")


def run(lab: Lab, text: str, plan: HeadPlan = HeadPlan(), source: str | None = None, target: str = "") -> Trace:
    """Runs one forward pass over a text under a plan and returns the trace.

    Args:
        lab: the model.
        text: input text.
        plan: interventions on heads.
        source: the second prompt, from which patched heads take their values; it must have as many tokens as `text`.
        target: text that the decoder of an encoder-decoder reads in place of its own output (teacher forcing).

    Returns:
        The trace.

    Raises:
        InputError: a text cannot be tokenised; the message names the fault and its position.
        ValueError: the plan names a head that the model does not have, or patches heads and `source` is missing or has
            another length.
    """
    return run_prompt(lab, lab.forced(read(lab, text, source), target), plan)


def read(lab: Lab, text: str, source: str | None = None) -> Prompt:
    """Returns the prompt of a text, with the second prompt if `source` is given; raises the errors of `run`."""
    prompt = lab.read(text)
    return prompt if source is None else prompt.with_source(lab.read(source))


def run_prompt(lab: Lab, prompt: Prompt, plan: HeadPlan = HeadPlan()) -> Trace:
    """Returns the trace of `run` for a prompt."""
    return lab.run(prompt, [plan])[0]


def predicting_positions(prompt: Prompt, kind: Kind) -> range | tuple[int, ...]:
    """Returns the positions that predict: all of a causal text, else the masked ones; raises InputError for none."""
    if kind.causal:
        return range(len(prompt.ids))
    if not prompt.predict_at:
        raise InputError(message("no word is hidden: put one in [brackets]"))
    return prompt.predict_at


def predicting_position(prompt: Prompt, kind: Kind, position: int) -> int:
    """Returns a position of the text; a negative one counts the predictions of a model of one text from the last."""
    predicting = predicting_positions(prompt, kind) if position < 0 else ()
    return position_among(position, predicting, len(prompt.ids))


def position_among(position: int, predicting: Sequence[int], count: int) -> int:
    """Returns `position` if it is below `count`; a negative one indexes `predicting`; raises InputError otherwise."""
    if -len(predicting) <= position < 0:
        return predicting[position]
    if not 0 <= position < count:
        raise InputError(message("no position {position} among {count} tokens", position=position, count=count))
    return position
