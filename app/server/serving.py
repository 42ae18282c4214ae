"""Scheduling, garbage collection and memory settings that let one process serve a lecture hall.

A thread needs a turn (app/server/queueing.py) to generate a page or to run a model. Call `prepare` once, before the
first page. With Streamlit's defaults a click took 200 ms (see benchmarks/README.md). Of these, 170 ms were
`gc.collect(2)`, which Streamlit calls after every run: torch has many objects, and the collection holds the GIL.
.streamlit/config.toml therefore switches off runner.postScriptGC and server.fileWatcherType. This module freezes
imported and loaded objects (`gc.freeze`) and runs one full collection per minute.
"""

import contextlib
import ctypes
import gc
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import TypeVar

import streamlit as st
import torch

import models
from app.server import limits
from app.server.queueing import OvertakenError as OvertakenError
from app.server.queueing import Turns
from app.server.streamlit_internals import session_id as session_id  # app/state uses both
from app.server.streamlit_internals import went_back_or_forward as went_back_or_forward
from models import Lab, catalogue
from models.contexts import setting
from models.generate.seq2seq_decoding import between_steps
from models.labs.foreign import is_foreign

# One page is generated at a time. Threads that generate pages at the same time compete for the GIL, and the thread that
# sends responses waits behind all of them: 200 visitors with 2,000 different links then waited 1.6 s (p95) instead of
# 0.2 s. A thread gives its turn back during a forward pass or a load; otherwise a page of four models at 512 tokens
# would block all visitors for a second.
_drawing = Turns(1)
# Torch releases the GIL in matrix products, so passes run in parallel with drawing and with each other, one per core.
# While a page of four models at 512 tokens was generated, another visitor waited 480 ms (p95) with one pass at a time
# and 307 ms with two.
_computing = Turns(max(2, os.cpu_count() or 1))
# Pages in progress, drawing or waiting for a pass. Each page can hold 50 MB of maps (Compare with four models); without
# a limit, twenty visitors needed 2 GB. With the limit, a thread waits for at most three other pages to get the drawing
# turn back after a pass.
_pages = Turns(4)
# Work of several seconds, such as beam search: one at a time, so that short passes always find a free computing turn.
_long = Turns(1)

T = TypeVar("T")

_LOG = logging.getLogger("attention_lab")

POLITE = 0.05  # maximum seconds that a step of long work waits for short work
SLICE = 0.002  # seconds between two checks of the turns during this wait
_trim_soon = threading.Event()  # set when memory of long work was freed
_is_wanted: ContextVar[Callable[[], bool]] = ContextVar("is_wanted", default=lambda: True)  # see only_while
_may_be_long: ContextVar[bool] = ContextVar("may_be_long", default=True)  # False inside only_short
FULL_COLLECTION = 60.0  # seconds between two full collections
TRIM = 0.5  # seconds between two checks of the memory; with 2 s, the peak was 100 MB higher
MUCH = 600e6  # bytes of the process above which each check returns freed memory to the system
# glibc's mallopt: parameter numbers (malloc.h) -> values. Blocks above M_MMAP_THRESHOLD come from the system and are
# returned to it. With a threshold of 1 MB a pass over 128 tokens takes 49 ms instead of 36 ms. With 4 MB it is not
# slower, and the maps of 512 tokens do not fragment the heap.
# names of the parameters: M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, M_ARENA_MAX
_MALLOPT = {-3: 4 * 2**20, -1: 64 * 2**20, -8: 1}
_settled: weakref.WeakSet[Lab] = weakref.WeakSet()  # models after whose load `settle` has run


@contextlib.contextmanager
def drawing() -> Iterator[None]:
    """Holds the turn to generate a page while the context is open, and counts the visit's seconds of work."""
    with _pages, _drawing, limits.working(limits.WORK):
        yield


def give_way() -> None:
    """Lets waiting threads go first. Call this between the parts of a page that takes long to generate."""
    if _drawing.is_mine():
        _drawing.release()
        _drawing.acquire()


@contextlib.contextmanager
def aside(page: bool = False) -> Iterator[None]:
    """Gives this thread's drawing turn back in the context; with `page` also its place among the pages in progress."""
    own_turns = [turns for turns in (_drawing, _pages) if turns.is_mine() and (page or turns is _drawing)]
    for turns in own_turns:
        turns.release()
    try:
        yield
    finally:
        for turns in reversed(own_turns):
            turns.acquire()


def only_while(is_wanted: Callable[[], bool]) -> contextlib.AbstractContextManager[None]:
    """In the context, computing raises OvertakenError unless `is_wanted` is true after the wait for a turn."""
    outer = _is_wanted.get()
    return setting(_is_wanted, lambda: outer() and is_wanted())


def begin() -> None:
    """Raises OvertakenError if nobody wants the result any more."""
    if not _is_wanted.get()():
        raise OvertakenError


class LongWorkError(Exception):
    """The computation is long work, for which this thread must not wait."""


def only_short() -> contextlib.AbstractContextManager[None]:
    """While the context is open, long work raises LongWorkError before it begins."""
    return setting(_may_be_long, False)


def begin_long() -> None:
    """Raises LongWorkError inside `only_short`. Call this before the work is counted."""
    if not _may_be_long.get():
        raise LongWorkError


def in_turn(work: Callable[[], T]) -> T:
    """Returns the result of work. If it needs long work, it is called again in the turn for long work.

    A page that kept its maps while it waits for this turn would take 35 MB: with 40 visitors, 2.1 GB in place of 1 GB.
    """
    with contextlib.suppress(LongWorkError), only_short():
        return work()
    with contextlib.ExitStack() as held:
        with aside(page=True):
            held.enter_context(_long)
        return work()


@contextlib.contextmanager
def computing_long() -> Iterator[None]:
    """Holds the turn for work of several seconds, such as beam search: one thread at a time.

    Meanwhile, other threads generate pages.

    Between two steps, the work waits for short work, and ends if its result is no longer wanted.
    """
    begin_long()
    own_turn = contextlib.nullcontext() if _long.is_mine() else _long
    with aside(page=True), own_turn, _computing, limits.working(limits.SEARCHES):
        begin()
        try:
            with setting(between_steps, _let_short_work_go_first):
                yield
        finally:
            _trim_soon.set()


def _let_short_work_go_first() -> None:
    """Waits while another thread draws or computes, but at most POLITE seconds.

    The steps of a beam search are short calls of torch, which release and reacquire the GIL. A thread that generates a
    page at the same time waits for the GIL at each of its own calls.
    """
    begin()
    until = time.monotonic() + POLITE
    while (_drawing.is_taken() or _computing.is_taken(beside_me=True)) and time.monotonic() < until:
        time.sleep(SLICE)


@contextlib.contextmanager
def computing(light: bool = False) -> Iterator[None]:
    """Holds a turn to run or load a model; other pages are generated meanwhile. Works inside and outside `drawing`.

    A `light` pass is as short as drawing a page and keeps the thread's drawing turn; otherwise it would wait a second
    time for the other pages in progress.
    """
    if light and _drawing.is_mine():
        begin()
        yield
        return
    with aside(), _computing:
        begin()
        yield


@st.cache_resource(show_spinner=False)
def prepare() -> None:
    """Sets up threads, memory and garbage collection; runs once per process."""
    tune()
    settle()
    # Automatic collections are limited to young objects, because a full collection stops all visitors for 50 ms.
    gc.set_threshold(5000, 20, 1_000_000)
    threading.Thread(target=_collect_now_and_then, daemon=True).start()


def _collect_now_and_then() -> None:
    """Collects all cycles once per FULL_COLLECTION and returns freed memory to the system; runs in its own thread.

    The automatic collections miss cycles that survive two young collections. After `tune`, freed memory stays in the
    process; returning this memory to the system costs the next pass a few milliseconds.
    """
    collected = time.monotonic()
    while True:
        time.sleep(TRIM)
        try:
            collected = _collect(collected)
        except Exception:  # the next attempt may succeed; without collections the memory grows for ever
            _LOG.exception("garbage collection failed")


def _collect(collected: float) -> float:
    """Collects and trims if it is time to, and returns the time of the last full collection."""
    if time.monotonic() - collected >= FULL_COLLECTION:
        # Unfreeze first: `settle` freezes all live objects at each load. A cycle that dies later, such as a visitor's
        # session, would otherwise never be freed.
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        trim()
        return time.monotonic()
    if _trim_soon.is_set() or resident() > MUCH:
        _trim_soon.clear()
        trim()
    return collected


def tune() -> None:
    """Sets one torch thread per forward pass, and makes memory that a pass frees stay in the process.

    One thread is enough, because the matrices are small and several visitors compute at once. Fetching freed memory
    from the system again took a quarter of the time of a pass at 128 tokens.
    """
    torch.set_num_threads(1)
    with contextlib.suppress(AttributeError, OSError):  # without glibc a pass is only slower
        mallopt = ctypes.CDLL(None).mallopt
        for parameter, value in _MALLOPT.items():
            mallopt(parameter, value)


def waiting() -> dict[str, int]:
    """Returns the number of waiting threads for each turn."""
    return {"page": _pages.queue, "drawing": _drawing.queue, "computing": _computing.queue,
            "long": _long.queue}


def resident() -> int:
    """Returns the resident memory of this process in bytes; 0 on systems without /proc."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def trim() -> None:
    """Returns freed memory to the system; has no effect without glibc."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def settle() -> None:
    """Excludes all live objects from later collections, after imports and loads: they stay in memory anyway."""
    gc.collect()
    gc.freeze()
    trim()


def load(name: str) -> Lab:
    """Returns the model of this name: the cached model, or the result of models.load followed by `settle`."""
    lab = models.cached(name)
    if lab is not None:
        return lab
    with computing():
        if is_foreign(name):
            # raises an error if the model is not on this machine, because a page must not wait for a download
            catalogue.find(name)
        lab = models.load(name)
        if lab not in _settled:
            _settled.add(lab)
            settle()
    return lab
