"""Runs a coroutine although browser tests leave an event loop running in the current thread."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def run(work: Coroutine[Any, Any, Any], patience: float | None = None) -> Any:
    """Calls asyncio.run in a new thread; raises TimeoutError after `patience` seconds."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result(patience)
