"""What models computed, kept for all visitors, each within a fixed number of entries or bytes. Beside it there are
sessions (app/state/session.py), models in memory (models/lab.py), and files of the repository as they were read."""

from __future__ import annotations

import functools
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from app import texts
from models import Trace
from models.trace import Layer, Sketch

TRACE_BYTES = 48 * 2**20  # of traces, all visitors together; one of stories with 128 tokens has 4 to 6 MiB
LAYER_BYTES = 48 * 2**20  # of single layers of sketches; 12 heads at 512 tokens have 36 MiB
MEASURED_BYTES = 2**20  # of what is measured of heads on typed texts
WRITTEN_BYTES = 2**19  # of texts that models wrote
TEXTS = 64  # entries of what is small

F = TypeVar("F", bound=Callable[..., Any])

kept: dict[str, Any] = {}  # name of a function -> its cache, for who counts and who empties


def remembered(entries: int = TEXTS, worded: bool = False) -> Callable[[F], F]:
    """A function's last results, by its arguments, which must be hashable and name what they depend on: a file by its
    time of change, a model by its name.

    Args:
        worded: what it gives holds texts for people: each language has results of its own.
    """
    def decorate(function: F) -> F:
        def said(language: str | None, *given: Any, **named: Any) -> Any:
            return function(*given, **named)

        cached = functools.lru_cache(entries)(said)
        kept[f"{function.__module__}.{function.__qualname__}"] = cached

        @functools.wraps(function)
        def asked(*given: Any, **named: Any) -> Any:
            return cached(texts.language() if worded else None, *given, **named)

        return asked  # type: ignore[return-value]  # it is called like what it wraps
    return decorate


class Sized(Protocol):
    @property
    def nbytes(self) -> int:
        """Bytes in memory."""


T = TypeVar("T", bound=Sized)


class ByteCache(Generic[T]):
    """What was asked for last, as much as fits into `limit` bytes; safe between threads.

    Args:
        most: values, where their keys hold more than they do.
    """

    def __init__(self, limit: int, most: float = math.inf) -> None:
        self._limit, self._most, self._held = limit, most, 0
        self._values: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: Hashable) -> T | None:
        """What is held under `key`, if anything is."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def keep(self, key: Hashable, value: T) -> None:
        """Holds it, and lets go of what was asked for longest ago; what is larger than the cache is not held, and
        pushes nothing out."""
        with self._lock:
            if key in self._values or value.nbytes > self._limit:
                return
            self._values[key] = value
            self._held += value.nbytes
            while self._held > self._limit or len(self._values) > self._most:
                self._held -= self._values.popitem(last=False)[1].nbytes

    @property
    def nbytes(self) -> int:
        """Bytes that are held."""
        return self._held


@dataclass(frozen=True)
class Written:
    """A text that a model wrote."""

    text: str

    @property
    def nbytes(self) -> int:
        return len(self.text.encode())


measured: ByteCache[Any] = ByteCache(MEASURED_BYTES, most=4 * TEXTS)  # a key holds its text, read
written: ByteCache[Written] = ByteCache(WRITTEN_BYTES)
traces: ByteCache[Trace | Sketch] = ByteCache(TRACE_BYTES)
layers: ByteCache[Layer] = ByteCache(LAYER_BYTES)
