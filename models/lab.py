"""Lab: the protocol of a loaded model, ours or imported; immutable and shared by all visitors."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from numpy import ndarray
from torch import Tensor

from models.errors import InputError
from models.generate.decoding import Step
from models.generate.sampling import GREEDY, Sampling
from models.kind import TARGET, Kind, policies_of, shape_of
from models.messages import message
from models.nets.attention.base import NO_INTERVENTION, Intervention
from models.nets.residual import Residuals, Writes
from models.nets.score_parts import ScoreParts
from models.plan import TRAINED, Address, HeadPlan, Scale
from models.prompt import Prompt
from models.tasks.base import Reader
from models.trace import Layer, Sketch, Trace, sketch_of

Touch = Callable[[str, int], Intervention]  # a function of (block, layer) that returns the intervention
Watch = Callable[[str, int, Tensor], None]  # a function of (block, layer, (B, H, N, N) patterns after the plan)
# a function of (block -> gates, positions) that returns log-probabilities
GatedLogProbabilities = Callable[[Mapping[str, Tensor], Sequence[int]], Tensor]


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
        """The same model, which reads every text as a user's message in the tokenizer's chat template.

        The model itself if `task.chats` is False.
        """
        return self

    def read_picture(self, data: bytes) -> Prompt:
        """Returns the prompt of an image file, for a vision model; raises InputError if the file is no image."""
        raise ValueError(f"{self.name} reads text")

    def anchored(self, prompt: Prompt) -> Prompt:
        """Returns the prompt with the baseline output as teacher-forced target.

        Then the attention maps under two plans are over the same tokens.

        For a model without a decoder, the prompt is returned unchanged. `rewrite` generates the output under a plan.
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

    def gated_log_probabilities(self, prompt: Prompt, constant: bool = False) -> GatedLogProbabilities:
        """Returns the predictions of a prompt as a differentiable function of head gates.

        With `constant`, a gate g does not multiply the head's output. The head's attention pattern is then the mixture
        g · computed pattern + (1 - g) · constant pattern, so that a gate of 0 makes the head constant.

        The function takes kind -> (B, L, H) gates and P positions of the predicting token sequence, and returns
        (B, P, V) log-probabilities. An encoder-decoder uses the baseline output as teacher-forced target.

        Raises:
            ValueError: the model predicts no tokens, or has no constant patterns and `constant` is True.
        """
        raise ValueError(f"{self.name} predicts nothing")

    def residuals(self, prompt: Prompt, plan: HeadPlan) -> tuple[Residuals, tuple[str, ...]]:
        """Runs a forward pass under the plan and returns the residual stream at every position with a prediction.

        The second result is the token sequence that contains these positions.

        Raises:
            ValueError: the model predicts no tokens, the text contains no masked word, or the structure of the model
                does not allow this measure.
        """
        raise ValueError(message("this model predicts no tokens"))

    def writes(self, prompt: Prompt, plan: HeadPlan, position: int = -1) -> Writes:
        """Runs a forward pass under the plan and returns what each part of the model adds to the residual stream.

        Args:
            position: position in the predicting token sequence; negative numbers count the predictions from the last
                one.

        Raises:
            ValueError: the errors of `residuals`, or there is no such position.
        """
        raise ValueError(message("this model predicts no tokens"))

    def score_parts(self, prompt: Prompt, plan: HeadPlan, address: Address, query: int, key: int) -> ScoreParts:
        """Runs a pass under the plan and returns the parts of one score.

        Args:
            address: address of a head.
            query, key: positions of the query and of the key.

        Raises:
            ValueError: there is no such head or position, the key is masked for the query, or the attention type does
                not compute its scores from queries and keys only.
        """
        raise NotImplementedError

    def patched_logits(self, prompt: Prompt, addresses: Sequence[Address | None], what: str,
                       position: int = -1) -> Tensor:
        """Runs one batched pass, in which each row of the batch patches one head, and returns the logits.

        Args:
            prompt: prompt that has a second prompt.
            addresses: addresses of B heads; None in place of an address for a row without a patch.
            what: `output` or `pattern`.
            position: position as in `writes`.

        Returns:
            (B, V).

        Raises:
            ValueError: the errors of `writes`, or there is no second prompt.
        """
        raise ValueError(message("this model predicts no tokens"))

    def states(self, batch: Tensor, touch: Touch = lambda kind, layer: NO_INTERVENTION,
               watch: Watch | None = None) -> list[Tensor]:
        """Returns the hidden states before the first layer and after each layer: L + 1 of (B, N, C).

        The last one is after the final norm. All are differentiable in the interventions.

        Args:
            batch: (B, N) token ids of texts of one length.
            touch: a function that returns the intervention on a layer.
            watch: a function that is called with the attention pattern of each layer.

        Raises:
            ValueError: the model has an encoder and a decoder, or reads images.
        """
        raise ValueError(f"{self.name} is no model of one text")

    def grid_positions(self, n: int, size: int) -> Sequence[int]:
        """Returns the positions of n tokens on the grid of `size` positions over which constant patterns are averaged.

        Tokens that end every text (such as an end token) get the last positions of the grid for every text length.
        """
        return range(n)

    def generate(self, prompt: Prompt, plan: HeadPlan = HeadPlan(), count: int = 40,
                 sampling: Sampling = GREEDY) -> Iterator[str]:
        """Yields the tokens of a continuation under the plan; yields nothing if the model does not generate text."""
        return iter(())

    @property
    def can_forget(self) -> bool:
        """True if the model can generate text with limited memory and computes by itself which tokens to drop."""
        return False

    def write_within(self, prompt: Prompt, budgets: Sequence[int], plan: HeadPlan = HeadPlan(),
                     count: int = 40, sampling: Sampling = GREEDY) -> Iterator[Step]:
        """Yields the steps of a continuation with a limited number of tokens kept per layer; see
        models/generate/decoding.py.

        Args:
            prompt: the prompt.
            budgets: number of tokens that each layer keeps.
            plan, count, sampling: as in `generate`.

        Raises:
            ValueError: the model has no limited memory, or the plan or the budgets do not fit the model.
        """
        raise ValueError(f"{self.name} cannot forget")

    def selected(self, scores: ndarray) -> ndarray | None:
        """Returns S (N, N), computed from a layer's scores (H, N, N): how strongly each query masks each key.

        Returns None if the attention type has no mask.
        """
        return None

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


def run(lab: Lab, text: str, plan: HeadPlan = HeadPlan(), source: str | None = None) -> Trace:
    """Runs one forward pass over a text under a plan and returns the trace.

    Args:
        lab: the model.
        text: input text.
        plan: interventions on heads.
        source: the second prompt, from which patched heads take their values; it must have as many tokens as `text`.

    Returns:
        The trace.

    Raises:
        InputError: a text cannot be tokenised; the message names the fault and its position.
        ValueError: the plan names a head that the model does not have, or patches heads and `source` is missing or has
            another length.
    """
    return run_prompt(lab, read(lab, text, source), plan)


def read(lab: Lab, text: str, source: str | None = None) -> Prompt:
    """Returns the prompt of a text, with the second prompt if `source` is given; raises the errors of `run`."""
    prompt = lab.read(text)
    return prompt if source is None else prompt.with_source(lab.read(source))


def run_prompt(lab: Lab, prompt: Prompt, plan: HeadPlan = HeadPlan()) -> Trace:
    """Returns the trace of `run` for a prompt."""
    return lab.run(prompt, [plan])[0]


def predicting_positions(prompt: Prompt, kind: Kind, target: int = 0) -> range | tuple[int, ...]:
    """Returns the positions at which the model predicts a token.

    These are all positions of a causal or decoder sequence, and the masked positions of other sequences.

    Args:
        kind: the block that reads the predicting token sequence.
        target: number of tokens of the decoder's sequence.

    Raises:
        InputError: the text of a masked model contains no masked word.
    """
    if kind.query_row == TARGET:
        return range(target)
    if kind.causal:
        return range(len(prompt.ids))
    if not prompt.predict_at:
        raise InputError(message("the text hides no word: put one in [brackets]"))
    return prompt.predict_at


def position_among(position: int, predicting: Sequence[int], count: int) -> int:
    """Returns a position in a sequence of `count` tokens; a negative `position` indexes `predicting` from its end.

    Raises:
        InputError: there is no such position.
    """
    if -len(predicting) <= position < 0:
        return predicting[position]
    if not 0 <= position < count:
        raise InputError(message("there is no position {position} among {count} tokens", position=position,
                                 count=count))
    return position
