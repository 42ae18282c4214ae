"""Turns: a lock for `places` threads at once that serves in the order of asking.

threading.Lock gives itself to whoever comes first after a release, so a thread that takes it again and again can keep
the others out; here who has had a turn stands behind all who wait. A visitor has one thread, but for a
search or a download beside it, so this is fair between visitors.
"""

from __future__ import annotations

import threading
from collections import deque
from types import TracebackType


class Turns:
    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: deque[threading.Event] = deque()
        self._lock = threading.Lock()
        self._holders: set[int] = set()

    def acquire(self) -> None:
        """Waits for a turn. A thread must not ask for a second one while it has one."""
        with self._lock:
            if self._free and not self._waiting:
                self._free -= 1
                self._holders.add(threading.get_ident())
                return
            mine = threading.Event()
            self._waiting.append(mine)
        try:
            mine.wait()
        except BaseException:  # an interrupt: who no longer waits must not be called, or pass the call on
            with self._lock:
                if mine in self._waiting:
                    self._waiting.remove(mine)
                else:
                    self._pass_on()
            raise
        with self._lock:
            self._holders.add(threading.get_ident())

    def release(self) -> None:
        """Gives the turn to who has waited longest."""
        with self._lock:
            self._holders.remove(threading.get_ident())
            self._pass_on()

    def _pass_on(self) -> None:
        if self._waiting:
            self._waiting.popleft().set()
        else:
            self._free += 1

    def is_mine(self) -> bool:
        """True if this thread has a turn."""
        return threading.get_ident() in self._holders

    @property
    def queue(self) -> int:
        """Threads that wait."""
        return len(self._waiting)

    def __enter__(self) -> Turns:
        self.acquire()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.release()
