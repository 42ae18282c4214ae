"""What it takes for one process to serve a lecture hall; call `prepare` once, before the first page.

Measured (benchmarks/README.md tells how): out of the box a click took 200 ms, of which Streamlit's
`gc.collect(2)` after every run was 170, because torch's objects are many and the collection holds the GIL.
What cures it: runner.postScriptGC and server.fileWatcherType in .streamlit/config.toml, and here: what was
imported or loaded is taken out of the collector's sight, and the rest is collected in full once a minute.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

import streamlit as st
import torch
from streamlit.runtime.scriptrunner import get_script_run_ctx

import models
from app.server.queueing import Turns
from models import Lab, catalogue
from models.labs.foreign import is_foreign

# Pages are drawn one after the other. Side by side they take the interpreter from each other at every operation, and
# the thread that sends the answers waits behind all of them: 200 visitors with 2,000 different links then waited
# 1.6 s (p95) instead of 0.2. Who comes to a pass or a load gives the turn away until it is done: a page of four models
# at 512 tokens kept everybody waiting for a second.
_drawing = Turns(1)
# Torch gives the interpreter away while it multiplies, so passes run beside drawing and beside each other: one a core.
# With one at a time, a visitor beside four models at 512 tokens waited 480 ms (p95); with two, 307.
_computing = Turns(max(2, os.cpu_count() or 1))
# Pages under way, drawn or waiting for a pass: each may hold 50 MB of maps (Compare with four models). Without a limit
# twenty visitors took 2 GB. And who gave the turn to draw away for a pass waits behind three others to get it back.
_pages = Turns(4)
# Beam searches and the like take seconds: one at a time, so that a place to compute is always left for short passes.
_long = Turns(1)


@contextlib.contextmanager
def drawing() -> Iterator[None]:
    """The turn to draw a page."""
    with _pages, _drawing:
        yield


def give_way() -> None:
    """Lets those who wait draw first: between the parts of a page that takes long."""
    if _drawing.is_mine():
        _drawing.release()
        _drawing.acquire()


@contextlib.contextmanager
def aside(page: bool = False) -> Iterator[None]:
    """Lets other pages draw meanwhile, for work that needs no turn. Inside drawing() or outside of it.

    Args:
        page: gives the place among the pages under way to another visitor, too.
    """
    held = [turns for turns in (_drawing, _pages) if turns.is_mine() and (page or turns is _drawing)]
    for turns in held:
        turns.release()
    try:
        yield
    finally:
        for turns in reversed(held):
            turns.acquire()


@contextlib.contextmanager
def computing_long() -> Iterator[None]:
    """The turn for work of seconds, such as beam search: one at a time, and no page waits for it."""
    with aside(page=True), _long, _computing:
        yield


@contextlib.contextmanager
def computing(light: bool = False) -> Iterator[None]:
    """The turn to run or load a model; while it waits and works, others draw. Inside drawing() or outside of it.

    Args:
        light: a pass as short as drawing a page. It stays within the turn to draw: who gives the turn away stands
            behind the other pages under way to get it back, and waits twice for one answer.
    """
    if light and _drawing.is_mine():
        yield
        return
    with aside(), _computing:
        yield


FULL_COLLECTION = 60.0  # seconds from one full collection to the next
TRIM = 0.5  # seconds from one look at the memory to the next; with 2, holes of passes took 100 MB more at the peak
MUCH = 600e6  # bytes of the process from which what passes have freed is given back at each look

# glibc's mallopt: parameters by number (malloc.h) and what they are set to. What is larger than the first is fetched
# from the system and given back: at 1 MB a pass over 128 tokens takes 49 ms for 36, at 4 MB it takes no longer, and
# the maps of 512 tokens leave no holes behind.
_MALLOPT = {-3: 4 * 2**20, -1: 64 * 2**20, -8: 1}  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, M_ARENA_MAX


@st.cache_resource(show_spinner=False)
def prepare() -> None:
    """Once a process: everything here."""
    tune()
    settle()
    # Young objects only, and the rest once a minute: a full collection stops every visitor for 50 ms.
    gc.set_threshold(5000, 20, 1_000_000)
    threading.Thread(target=_collect_now_and_then, daemon=True).start()


def _collect_now_and_then() -> None:
    """What the thresholds leave behind: cycles that lived through two young collections. And what passes have freed
    since, which tune() keeps within the process, goes back to the system: it costs the next pass a few milliseconds."""
    collected = time.monotonic()
    while True:
        time.sleep(TRIM)
        if time.monotonic() - collected >= FULL_COLLECTION:
            # All of it: every load of a model takes what is there out of the collector's sight (settle), and what dies
            # afterwards in a cycle, as a visitor's session does, would stay for ever.
            gc.unfreeze()
            gc.collect()
            gc.freeze()
            trim()
            collected = time.monotonic()
        elif resident() > MUCH:
            trim()


def tune() -> None:
    """One thread a forward pass: the matrices are small, and visitors come side by side. And memory that a pass
    has freed stays with the process: to fetch its pages anew took a quarter of the time at 128 tokens."""
    torch.set_num_threads(1)
    with contextlib.suppress(AttributeError, OSError):  # another C library than glibc: only slower
        mallopt = ctypes.CDLL(None).mallopt
        for parameter, value in _MALLOPT.items():
            mallopt(parameter, value)


def waiting() -> dict[str, int]:
    """Threads that wait for a turn."""
    return {"page": _pages.queue, "drawing": _drawing.queue, "computing": _computing.queue,
            "long": _long.queue}


def resident() -> int:
    """Bytes of this process in memory; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def trim() -> None:
    """Gives freed memory back to the system, wherever it lies."""
    with contextlib.suppress(AttributeError, OSError):  # another C library than glibc
        ctypes.CDLL(None).malloc_trim(0)


def settle() -> None:
    """After imports and loads: what is there now stays, so the collector need not look at it again; what a load has
    unpacked on its way does not."""
    gc.collect()
    gc.freeze()
    trim()


_settled: weakref.WeakSet[Lab] = weakref.WeakSet()


def load(name: str) -> Lab:
    """models.load, and what it left behind out of the collector's sight. Raises CheckpointError or,
    of a model that was not opened on this machine, ForeignError."""
    lab = models.held(name)
    if lab is not None:
        return lab
    with computing():
        if is_foreign(name):
            catalogue.find(name)  # raises where it is not on this machine: a page must not wait for a download
        lab = models.load(name)
        if lab not in _settled:
            _settled.add(lab)
            settle()
    return lab


def went_back_or_forward() -> bool:
    """True if this run was caused by the browser's back or forward: then the address, not the server, is right.

    A private name of Streamlit: without it back and forward change the address only.
    """
    return bool(getattr(get_script_run_ctx(), "is_history_navigation", False))
