"""What is computed once and kept for all visitors, each within a fixed number of entries or bytes. The one module
that keeps anything beside sessions (app/state/session.py) and models in memory (models/lab.py)."""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from models import Trace

TRACE_BYTES = 96 * 2**20  # of traces, all visitors together; one of stories with 128 tokens has 4 to 6 MiB
TEXTS = 64  # entries of what is small

F = TypeVar("F", bound=Callable[..., Any])

kept: dict[str, Any] = {}  # name of a function -> its cache, for who counts and who empties


def remembered(entries: int = TEXTS) -> Callable[[F], F]:
    """A function's last results, by its arguments, which must be hashable and name what they depend on: a file by its
    time of change, a model by its name."""
    def decorate(function: F) -> F:
        cached = functools.lru_cache(entries)(function)
        kept[f"{function.__module__}.{function.__qualname__}"] = cached
        return cached  # type: ignore[return-value]  # an lru_cache is called like what it wraps
    return decorate


class TraceCache:
    """The traces that were asked for last, as many as fit into `limit` bytes; safe between threads."""

    def __init__(self, limit: int) -> None:
        self._limit, self._held = limit, 0
        self._traces: OrderedDict[Hashable, Trace] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: Hashable) -> Trace | None:
        """The trace under `key`, if it is held."""
        with self._lock:
            if key in self._traces:
                self._traces.move_to_end(key)
            return self._traces.get(key)

    def keep(self, key: Hashable, trace: Trace) -> None:
        """Holds a trace, and lets go of those that were asked for longest ago; one that is larger than the cache is
        not held, and pushes nobody out."""
        with self._lock:
            if key in self._traces or trace.nbytes > self._limit:
                return
            self._traces[key] = trace
            self._held += trace.nbytes
            while self._held > self._limit:
                self._held -= self._traces.popitem(last=False)[1].nbytes

    @property
    def nbytes(self) -> int:
        """Bytes that are held."""
        return self._held


traces = TraceCache(TRACE_BYTES)
