"""A function that generations of text call between two steps, so that an app can let shorter work go first."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

# Called before each step. It may wait, or raise an error, which ends the generation.
between_steps: ContextVar[Callable[[], None]] = ContextVar("between_steps", default=lambda: None)
