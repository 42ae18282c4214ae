"""Bounds on connections, below Streamlit: file descriptors, message size, idle requests, websockets per address.

Streamlit configures uvicorn itself, so the two bounds that belong to uvicorn are set on its protocol classes, once.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from app.server import messages

REQUEST_SECONDS = 15.0  # until the headers of a request must have arrived
DESCRIPTORS = 65_536  # soft limit that is asked for; a visit takes up to four
PER_VISIT = 5  # descriptors per websocket that are counted on
OTHERS = 200  # descriptors of the process that belong to no visit
PER_ADDRESS = 600  # websockets from one address: a lecture hall of 400 behind one router, and reloads

_bounded = threading.Event()


def raise_descriptors() -> int:
    """Raises the soft limit of open files as far as the hard limit allows; returns the limit."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return DESCRIPTORS if soft == resource.RLIM_INFINITY else soft


def bound_server() -> None:
    """Bounds websocket messages and the time that a request's headers may take, for all connections from now on."""
    if _bounded.is_set():
        return
    _bounded.set()
    begin_socket = WebSocketsSansIOProtocol.__init__

    def bounded_socket(self: Any, config: Any, *given: Any, **named: Any) -> None:
        config.ws_max_size = min(config.ws_max_size, messages.LARGEST)
        begin_socket(self, config, *given, **named)

    WebSocketsSansIOProtocol.__init__ = bounded_socket  # type: ignore[method-assign]
    made, received = H11Protocol.connection_made, H11Protocol.data_received

    def connection_made(self: H11Protocol, transport: Any) -> None:
        made(self, transport)
        _await_request(self)

    def data_received(self: H11Protocol, data: bytes) -> None:
        received(self, data)
        if _is_idle(self):  # the beginning of another request on the same connection
            _await_request(self)

    H11Protocol.connection_made = connection_made  # type: ignore[method-assign]
    H11Protocol.data_received = data_received  # type: ignore[method-assign]


def _is_idle(connection: H11Protocol) -> bool:
    """True while no request of this connection is being answered."""
    return connection.cycle is None or connection.cycle.response_complete


def _await_request(connection: H11Protocol) -> None:
    """Closes a connection on which no request is complete after REQUEST_SECONDS."""
    if getattr(connection, "_awaits_request", False):
        return
    connection._awaits_request = True  # type: ignore[attr-defined]
    before = connection.cycle

    def look() -> None:
        connection._awaits_request = False  # type: ignore[attr-defined]
        transport = connection.transport
        if transport.is_closing() or transport.get_protocol() is not connection:  # it became a websocket
            return
        if connection.cycle is before and _is_idle(connection):
            transport.abort()

    asyncio.get_running_loop().call_later(REQUEST_SECONDS, look)


class Sockets:
    """Counts open websockets, in all and per address.

    Attributes:
        most: websockets in all.
        per_address: websockets from one address.
    """

    def __init__(self, most: int, per_address: int = PER_ADDRESS) -> None:
        self.most, self.per_address = most, min(per_address, max(1, most // 2))
        self._open: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def place(self, address: str) -> Iterator[bool]:
        """A place for one websocket as long as the context lasts; False if there is none."""
        with self._lock:
            free = self._open.total() < self.most and self._open[address] < self.per_address
            if free:
                self._open[address] += 1
        try:
            yield free
        finally:
            if free:
                with self._lock:
                    self._open[address] -= 1
                    if not self._open[address]:
                        del self._open[address]

    @property
    def count(self) -> int:
        """Websockets that are open."""
        return self._open.total()


def sockets() -> Sockets:
    """The counter of this process, as many places as its descriptors allow."""
    return Sockets(max(1, (raise_descriptors() - OTHERS) // PER_VISIT))
