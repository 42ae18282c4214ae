"""What the pages ask the models for, computed once and kept for all visitors within a fixed amount of memory."""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Hashable

import models
from models import HeadPlan, Lab, Trace, lengths
from models.tasks.base import InputError, Prompt
from models.trace import run_both, run_prompt

CACHE_BYTES = 96 * 2**20  # of traces, all visitors together; one of stories with 128 tokens has 4 to 6 MiB
CACHE_TEXTS = 64


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
        """Holds a trace, and lets go of those that were asked for longest ago."""
        with self._lock:
            if key not in self._traces:
                self._traces[key] = trace
                self._held += trace.nbytes
            while self._held > self._limit and len(self._traces) > 1:
                self._held -= self._traces.popitem(last=False)[1].nbytes


_cache = TraceCache(CACHE_BYTES)

def traces_of(lab: Lab, prompt: Prompt, plan: HeadPlan) -> tuple[Trace, Trace]:
    """The traces as trained and under the plan, remembered; the same object twice for the empty plan."""
    first, second = (lab.name, prompt, HeadPlan()), (lab.name, prompt, plan)
    before, after = _cache.find(first), _cache.find(second)
    if before is None or after is None:
        if before is None and plan:
            before, after = run_both(lab, prompt, plan)
        elif before is None:
            before = after = run_prompt(lab, prompt)
        else:
            after = run_prompt(lab, prompt, plan)
        _cache.keep(first, before)
        _cache.keep(second, after)
    return before, after


def read(lab: Lab, text: str, limit: int | None = None) -> Prompt:
    """The text as the model's task reads it, remembered: a click elsewhere does not read a long text again.

    Args:
        limit: most tokens that are read; the model's own by default.

    Raises:
        InputError: it cannot be read.
    """
    prompt = _read(lab.name, text, limit or lab.limit)
    if isinstance(prompt, InputError):
        raise InputError(str(prompt), prompt.start, prompt.stop)  # a new one: each raise adds frames to what it holds
    return prompt


@functools.lru_cache(CACHE_TEXTS)
def _read(name: str, text: str, limit: int) -> Prompt | InputError:
    # By name: a remembered text must not keep a model in memory that has been let go.
    try:
        return models.load(name).task.read(text, limit)
    except InputError as error:
        return error.with_traceback(None)


def facts_of(lab: Lab, prompt: Prompt, plan: HeadPlan) -> dict[str, float | None]:
    """models.lengths.facts, remembered."""
    return _facts(lab.name, prompt, plan)


@functools.lru_cache(CACHE_TEXTS)
def _facts(name: str, prompt: Prompt, plan: HeadPlan) -> dict[str, float | None]:
    return lengths.facts(models.load(name), prompt, plan)
