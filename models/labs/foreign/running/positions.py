"""Logits of a few positions: the head of a model runs only where its predictions are read.

Logits of 512 tokens by a vocabulary of 262,144 are 537 MB, and *Minimal heads* needs several copies with gradients. The
body (the module whose last hidden states the head reads) returns the hidden states of the requested positions only. So
this works for every architecture whose head treats each position separately.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from torch import Tensor, nn

BLOCK_NUMBERS = 8 * 2**20  # number of logits that are computed at once: 32 MB


class BodyOutput:
    """The output of a model's body in one forward pass, and the positions that its head reads.

    Attributes:
        positions: positions in the token sequence that the head reads; negative ones count from the end.
    """

    def __init__(self, positions: Sequence[int]) -> None:
        self.positions = list(positions)
        self._output: Any = None

    def of(self, run: Any) -> Any:
        """Returns the body's output with the hidden states of `positions`; `run` is called once."""
        if self._output is None:
            self._output = run()
        hidden: Tensor = self._output.last_hidden_state
        return type(self._output)(**{**self._output, "last_hidden_state": hidden[:, self.positions]})


_current: ContextVar[BodyOutput | None] = ContextVar("body output", default=None)


@contextmanager
def at_positions(output: BodyOutput) -> Iterator[None]:
    """Makes a model for which `listen` was called return the logits of `output.positions`, inside the context.

    A second call of the model inside the same `output` runs its head only.
    """
    token = _current.set(output)
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def whole() -> Iterator[None]:
    """Runs the body as without `at_positions`, inside the context: for a pass over another prompt."""
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)


def body_of(model: Any) -> nn.Module | None:
    """Returns the module whose last hidden states the model's head reads; None if the model has no head."""
    if model.config.is_encoder_decoder:
        decoder = model.get_decoder()  # the decoder of an EncoderDecoderModel has its own head
        body = getattr(decoder, "base_model", decoder)
    else:
        body = model.base_model
    return None if body is model else body


def listen(body: nn.Module) -> None:
    """Makes the body follow `at_positions`, from now on.

    Args:
        body: as `body_of` returns it.
    """
    whole = body.forward

    def forward(*args: Any, **kwargs: Any) -> Any:
        output = _current.get()
        return whole(*args, **kwargs) if output is None else output.of(lambda: whole(*args, **kwargs))

    body.forward = forward  # replaced once, when the model is opened


class Result:
    """One forward pass: the model's output, and its logits at the requested positions."""

    def __init__(self, call: Callable[[], Any], limited: bool) -> None:
        """Runs the model once.

        Args:
            call: runs the model on one prompt; called at once, and again, without the body, for each `logits_at`.
            limited: True if the model has a body that follows `at_positions`, and all its logits would be too many.
        """
        self._call = call
        self._body = BodyOutput([0]) if limited else None
        self.output = self._run()

    def logits_at(self, positions: Sequence[int]) -> Tensor:
        """Returns (P, V) logits of P positions."""
        if self._body is None:
            return self.output.logits[0, list(positions)]
        self._body.positions = list(positions)
        return self._run().logits[0]

    def _run(self) -> Any:
        if self._body is None:
            return self._call()
        with at_positions(self._body):
            return self._call()


def blocks(positions: Sequence[int], vocabulary: int) -> Iterator[Sequence[int]]:
    """Splits positions into groups whose logits are at most BLOCK_NUMBERS, with at least one position each.

    Args:
        positions: P positions.
        vocabulary: number of logits of one position.
    """
    size = max(1, BLOCK_NUMBERS // vocabulary)
    for start in range(0, len(positions), size):
        yield positions[start:start + size]
