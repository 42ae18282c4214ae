"""A context in which a context variable has a value."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def setting(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Sets the variable for this thread while the context is open."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
