"""Runs a coroutine although browser tests leave an event loop running in this thread, and waits for a condition."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def run(work: Coroutine[Any, Any, Any], patience: float | None = None) -> Any:
    """Calls asyncio.run in a new thread; raises TimeoutError after `patience` seconds."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result(patience)


def until(condition: Callable[[], bool], seconds: float = 240.0) -> None:
    """Waits until a condition holds; a child process may import torch first."""
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, "the condition never became true"
        time.sleep(0.001)
