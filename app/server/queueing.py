"""Turns: a first-come, first-served semaphore.

threading.Lock has no queue: a thread that acquires the lock again and again can starve the waiting threads. `Turns`
serves threads in the order of their calls of `acquire`. A visitor usually has one thread, so this is also the order of
the visitors.
"""

from __future__ import annotations

import threading
from collections import deque
from types import TracebackType


class Turns:
    """A semaphore with a queue for `limit` threads, used as a context manager."""

    def __init__(self, limit: int) -> None:
        self._free = limit
        self._waiting: deque[threading.Event] = deque()
        self._lock = threading.Lock()
        self._holders: set[int] = set()

    def acquire(self) -> None:
        """Waits for a turn. A thread that holds a turn must not acquire a second turn."""
        with self._lock:
            if self._free and not self._waiting:
                self._free -= 1
                self._holders.add(threading.get_ident())
                return
            event = threading.Event()
            self._waiting.append(event)
        try:
            event.wait()
        except BaseException:  # an interrupted thread leaves the queue, or passes on the turn that it has just received
            with self._lock:
                if event in self._waiting:
                    self._waiting.remove(event)
                else:
                    self._pass_on()
            raise
        with self._lock:
            self._holders.add(threading.get_ident())

    def release(self) -> None:
        """Passes this thread's turn to the thread that has waited longest."""
        with self._lock:
            self._holders.remove(threading.get_ident())
            self._pass_on()

    def _pass_on(self) -> None:
        if self._waiting:
            self._waiting.popleft().set()
        else:
            self._free += 1

    def is_mine(self) -> bool:
        """Returns True if the calling thread holds a turn."""
        return threading.get_ident() in self._holders

    def is_taken(self, beside_me: bool = False) -> bool:
        """Returns True if a thread holds a turn. With `beside_me`, the calling thread is not counted."""
        return bool(self._holders - {threading.get_ident()} if beside_me else self._holders)

    @property
    def queue(self) -> int:
        """Number of waiting threads."""
        return len(self._waiting)

    def __enter__(self) -> Turns:
        self.acquire()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.release()
