"""Capabilities that only some models have: abstract classes below Lab. `Explainable.of(lab)` asks for one."""

import abc
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar, Self

from torch import Tensor

from models.generate.decoding import GREEDY, Sampling, Step
from models.lab import Lab
from models.messages import N_, message
from models.nets.attention.base import NO_INTERVENTION, Intervention
from models.nets.residual import Residuals, ScoreParts, Writes
from models.plan import Address, HeadPlan
from models.prompt import Prompt
from models.trace import Trace

Touch = Callable[[str, int], Intervention]  # a function of (block, layer) that returns the intervention
Watch = Callable[[str, int, Tensor], None]  # a function of (block, layer, (B, H, N, N) patterns after the plan)
# a function of (block -> gates, positions) that returns log-probabilities
GatedLogProbabilities = Callable[[Mapping[str, Tensor], Sequence[int]], Tensor]


class Capability(Lab):
    """A Lab with more methods."""

    missing: ClassVar[str]  # the message for a model without this capability, marked for translation

    @classmethod
    def of(cls, lab: Lab) -> Self:
        """Returns the model, typed as one with this capability; raises ValueError for a model without it."""
        if not isinstance(lab, cls):
            raise ValueError(message(cls.missing))
        return lab


class Explainable(Capability):
    """A model whose predictions can be explained by its residual stream and by interventions in batches.

    Every method raises ValueError if the model predicts no tokens, the text has no prediction, or the structure of the
    model does not allow the measure.
    """

    missing = N_("this model predicts no tokens")

    @abc.abstractmethod
    def residuals(self, prompt: Prompt, plan: HeadPlan) -> tuple[Residuals, tuple[str, ...]]:
        """Runs a pass and returns the residual stream at every predicting position, and these positions' sequence."""

    @abc.abstractmethod
    def writes(self, prompt: Prompt, plan: HeadPlan, position: int = -1, trace: Trace | None = None) -> Writes:
        """Returns what each part of the model adds to the residual stream at one position.

        A negative position counts the predictions from the last one. Without `trace`, a trace of this prompt and plan
        with head_outputs, another pass is run.
        """

    @abc.abstractmethod
    def score_parts(self, prompt: Prompt, plan: HeadPlan, address: Address, query: int, key: int) -> ScoreParts:
        """Runs a pass and returns the parts of the score of one query and key; the key must be visible to the query."""

    @abc.abstractmethod
    def patched_logits(self, prompt: Prompt, addresses: Sequence[Address | None], what: str,
                       position: int = -1) -> Tensor:
        """Runs one batched pass whose rows patch one head each (None: no head), and returns the logits (B, V).

        The prompt has a second prompt; `what` is `output` or `pattern`; `position` as in `writes`.
        """

    @abc.abstractmethod
    def gated_log_probabilities(self, prompt: Prompt, constant: bool = False) -> GatedLogProbabilities:
        """Returns the predictions of a prompt as a differentiable function of head gates.

        The function takes kind -> (B, L, H) gates and P positions of the predicting token sequence, and returns
        (B, P, V) log-probabilities. An encoder-decoder uses the baseline output as teacher-forced target. With
        `constant`, a gate g does not multiply the head's output. The head's attention pattern is then the mixture
        g · computed pattern + (1 - g) · constant pattern, so that a gate of 0 makes the head constant.
        """


class HasStates(Capability):
    """A model of one text whose hidden states a probe can read."""

    missing = N_("this model does not read one text alone")

    @abc.abstractmethod
    def states(self, batch: Tensor, touch: Touch = lambda kind, layer: NO_INTERVENTION,
               watch: Watch | None = None) -> list[Tensor]:
        """Returns the hidden states before the first layer and after each layer: L + 1 of (B, N, C).

        The last one is after the final norm. All are differentiable in the interventions. The batch (B, N) has texts of
        one length; `watch` is called with the attention pattern of each layer.
        """

    def grid_positions(self, n: int, size: int) -> Sequence[int]:
        """Returns the positions of n tokens on the grid of `size` positions over which constant patterns are averaged.

        Tokens that end every text (such as an end token) get the last positions of the grid for every text length.
        """
        return range(n)


class ReadsPictures(Capability):
    """A vision model, or an imported model that can be one."""

    missing = N_("this model reads no pictures")

    @abc.abstractmethod
    def read_picture(self, data: bytes) -> Prompt:
        """Returns the prompt of an image file; raises InputError if the file is no image."""


class Forgets(Capability):
    """A model that can have selective attention, and then generates text with limited memory."""

    missing = N_("this model has no selective attention")

    @property
    @abc.abstractmethod
    def can_forget(self) -> bool:
        """True if the model can generate text with limited memory and computes by itself which tokens to drop."""

    @abc.abstractmethod
    def write_within(self, prompt: Prompt, budgets: Sequence[int], plan: HeadPlan = HeadPlan(),
                     count: int = 40, sampling: Sampling = GREEDY) -> Iterator[Step]:
        """Yields the steps of a continuation in which each layer keeps as many tokens as its budget."""
