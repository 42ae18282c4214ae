"""What the pages ask the models for, computed once and kept for all visitors within a fixed amount of memory."""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

from models import HeadPlan, Lab, Trace
from models.tasks.base import InputError, Prompt
from models.trace import run_prompt

CACHE_BYTES = 96 * 2**20  # of traces, all visitors together; one of stories with 128 tokens has 4 to 6 MiB
CACHE_TEXTS = 64


class TraceCache:
    """The traces that were asked for last, as many as fit into `limit` bytes; safe between threads."""

    def __init__(self, limit: int) -> None:
        self._limit, self._held = limit, 0
        self._traces: OrderedDict[Hashable, Trace] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Trace]) -> Trace:
        """The trace under `key`, made if it is not held. Two threads may make the same one; both are right."""
        with self._lock:
            if key in self._traces:
                self._traces.move_to_end(key)
                return self._traces[key]
        trace = make()
        with self._lock:
            if key not in self._traces:
                self._traces[key] = trace
                self._held += trace.nbytes
            while self._held > self._limit and len(self._traces) > 1:
                self._held -= self._traces.popitem(last=False)[1].nbytes
        return trace


_cache = TraceCache(CACHE_BYTES)


def trace_of(lab: Lab, prompt: Prompt, plan: HeadPlan) -> Trace:
    """run_prompt, remembered."""
    return _cache.get((lab.name, prompt, plan), lambda: run_prompt(lab, prompt, plan))


def read(lab: Lab, text: str) -> Prompt:
    """The text as the model's task reads it, remembered: a click elsewhere does not read a long text again.

    Raises:
        InputError: it cannot be read.
    """
    prompt = _read(lab, text)
    if isinstance(prompt, InputError):
        raise prompt
    return prompt


@functools.lru_cache(CACHE_TEXTS)
def _read(lab: Lab, text: str) -> Prompt | InputError:
    try:
        return lab.task.read(text)
    except InputError as error:
        return error.with_traceback(None)
