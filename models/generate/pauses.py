"""A function that text generation calls between two steps, so that an app can run shorter requests first."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

# Called before each step. It may wait, or raise an error, which ends the generation.
between_steps: ContextVar[Callable[[], None]] = ContextVar("between_steps", default=lambda: None)
