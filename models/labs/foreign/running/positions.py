"""Predictions at selected positions: the language-model head is run only where they are used.

Logits of 512 tokens and a vocabulary of 262,144 take 537 MB, and *Minimal heads* needs several copies with gradients.
The body is the module whose last hidden states the head reads. It returns the hidden states of the requested positions
only, so this works for every architecture whose head processes each position separately.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy
from numpy import ndarray
from torch import Tensor, nn

from models.contexts import setting
from models.prompt import Prompt
from models.trace import Output, fixed

BLOCK_NUMBERS = 8 * 2**20  # number of logits that are computed at once: 32 MB


class BodyOutput:
    """The output of a model's body in one forward pass, and the positions that its head reads."""

    def __init__(self, positions: Sequence[int]) -> None:
        self.positions = list(positions)
        self._output: Any = None

    def of(self, run: Any) -> Any:
        """Returns the body's output at `positions` only; `run` runs the body once, and its result is stored."""
        if self._output is None:
            self._output = run()
        hidden: Tensor = self._output.last_hidden_state
        return type(self._output)(**{**self._output, "last_hidden_state": hidden[:, self.positions]})


_current: ContextVar[BodyOutput | None] = ContextVar("body output", default=None)


def at_positions(output: BodyOutput | None) -> AbstractContextManager[None]:
    """Context manager: inside it, the model computes logits only at `output.positions`; for None, at all positions.

    `listen` must have been called for the model's body. If the model is called again with the same `output`, only its
    language-model head is run.
    """
    return setting(_current, output)


def bodies_of(model: Any) -> list[nn.Module]:
    """Returns the modules whose last hidden states the model's head may read; empty if the model has no head."""
    decoder = model.get_decoder() if hasattr(model, "get_decoder") else None
    own = getattr(decoder, "base_model", decoder)  # the decoder of an EncoderDecoderModel has its own head
    bodies = [own] if model.config.is_encoder_decoder else [model.base_model, own]
    return [body for body in dict.fromkeys(bodies) if isinstance(body, nn.Module) and body is not model]


def listen(body: nn.Module) -> None:
    """Makes the body respond to `at_positions`, permanently."""
    whole = body.forward

    def forward(*args: Any, **kwargs: Any) -> Any:
        output = _current.get()
        return whole(*args, **kwargs) if output is None else output.of(lambda: whole(*args, **kwargs))

    body.forward = forward  # replaced once, when the model is opened


class Result:
    """One forward pass: the model's output, and its logits at the requested positions."""

    def __init__(self, call: Callable[[], Any], limited: bool) -> None:
        """Runs the model once."""
        self._call = call
        self._body = BodyOutput([0]) if limited else None
        self.output = self._run()

    def logits_at(self, positions: Sequence[int]) -> Tensor:
        """Returns the logits (P, V) of P positions."""
        if self._body is None:
            return self.output.logits[0, list(positions)]
        self._body.positions = list(positions)
        return self._run().logits[0]

    def _run(self) -> Any:
        with at_positions(self._body):
            return self._call()


@dataclass(frozen=True)
class Answer:
    """The results of a model; the attributes are those of PassResult in models/trace.py."""

    outputs: tuple[Output, ...]
    losses: ndarray
    vectors: ndarray | None = None


def no_losses(prompt: Prompt) -> ndarray:
    """Returns the losses (N,) of a prompt without targets: NaN at every position."""
    return fixed(numpy.full(len(prompt.ids), numpy.nan, dtype=numpy.float32))


def predict_tokens(prompt: Prompt, result: Result, labels: tuple[str, ...]) -> Answer:
    """Returns the predicted distributions at the positions `predict_at`, and the loss of each token with a target."""
    losses = numpy.full(len(prompt.ids), numpy.nan, dtype=numpy.float32)
    distributions: dict[int, ndarray] = {}
    positions = set(prompt.predict_at)
    wanted = [i for i in range(len(prompt.ids)) if i in positions or prompt.targets[i] >= 0]
    size = max(1, BLOCK_NUMBERS // len(labels))
    for block in (wanted[start:start + size] for start in range(0, len(wanted), size)):
        logits = result.logits_at(block).float()
        total = logits.logsumexp(-1)
        for row, i in enumerate(block):
            if prompt.targets[i] >= 0:
                losses[i] = float(total[row] - logits[row, prompt.targets[i]])
            if i in positions:
                distributions[i] = fixed(logits[row].softmax(-1).numpy())
    outputs = tuple(Output(i, distributions[i], labels, prompt.targets[i]) for i in prompt.predict_at)
    return Answer(outputs, fixed(losses))
