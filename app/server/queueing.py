"""Turns: a first-come, first-served semaphore of threads. Queue: a fair one of requests, which wait without a thread.

threading.Lock has no queue: a thread that acquires the lock again and again can starve the waiting threads. `Turns`
serves threads in the order of their calls of `acquire`. A visitor usually has one thread, so this is also the order of
the visitors.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import Counter, deque
from collections.abc import AsyncIterator
from types import TracebackType

from starlette.requests import ClientDisconnect

from app.server.limits import Allowance, work_of


class OvertakenError(Exception):
    """A newer request of the same session made this request unnecessary before its computation began."""


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
        return len(self._waiting)

    def __enter__(self) -> Turns:
        self.acquire()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.release()


class Queue:
    """Admits `places` requests at a time, and `per_visit` of one visit; for one event loop.

    The next is the waiting request of the visit that has used the fewest seconds of work. One request of a visit waits:
    a newer one replaces it, because the browser sends all its waiting events with each request.
    """

    def __init__(self, places: int, per_visit: int) -> None:
        self._free, self._per_visit = places, per_visit
        self._running: Counter[Allowance] = Counter()
        self._waiting: dict[Allowance, asyncio.Future[bool]] = {}

    @contextlib.asynccontextmanager
    async def place(self, visit: Allowance, gone: asyncio.Future[None]) -> AsyncIterator[None]:
        """Keeps a place after the wait for it; raises OvertakenError (a newer request) or ClientDisconnect (`gone`)."""
        if (older := self._waiting.pop(visit, None)) is not None:
            older.set_result(False)
        if self._free and self._running[visit] < self._per_visit:
            self._take(visit)
        else:
            turn = self._waiting[visit] = asyncio.get_running_loop().create_future()
            try:
                await asyncio.wait({turn, gone}, return_when=asyncio.FIRST_COMPLETED)
            except BaseException:
                self._leave(visit, turn)
                raise
            if not turn.done():
                self._leave(visit, turn)
                raise ClientDisconnect
            if not turn.result():
                raise OvertakenError
        try:
            yield
        finally:
            self._give_back(visit)

    def _take(self, visit: Allowance) -> None:
        self._free -= 1
        self._running[visit] += 1

    def _leave(self, visit: Allowance, turn: asyncio.Future[bool]) -> None:
        if self._waiting.get(visit) is turn:
            del self._waiting[visit]
        elif turn.done() and turn.result():
            self._give_back(visit)

    def _give_back(self, visit: Allowance) -> None:
        self._free += 1
        self._running[visit] -= 1
        if not self._running[visit]:
            del self._running[visit]
        ready = [each for each in self._waiting if self._running[each] < self._per_visit]
        if ready and self._free:
            following = min(ready, key=work_of)
            turn = self._waiting.pop(following)
            self._take(following)
            turn.set_result(True)
