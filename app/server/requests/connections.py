"""Limits on connections: descriptors, websockets, message size, time to send a header and to read a response.

Streamlit configures uvicorn and has no settings for message size and times. Therefore `bound_server` patches
uvicorn's protocol classes, once per process.
"""

import asyncio
import contextlib
import logging
import threading
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from app.server import limits, streamlit_internals
from app.server.requests import messages

REQUEST_SECONDS = 15.0  # seconds within which the headers of a request must arrive
READ_SECONDS = 30.0  # seconds after which a connection that reads nothing of its responses is closed
DESCRIPTORS = 65_536  # requested soft limit of open files; a session uses up to four
PER_VISIT = 5  # number of file descriptors reserved for each websocket
OTHERS = 200  # number of file descriptors reserved for everything else in the process
SWEEP = 5.0  # seconds between two checks for sessions whose browser has disconnected
# largest number of websockets from one address: a lecture hall of 400 behind one router, with reloads
PER_ADDRESS = 600

_bounded = threading.Event()
_LOG = logging.getLogger("attention_lab")


def raise_descriptors() -> int:
    """Raises the soft limit of open files to DESCRIPTORS or the hard limit; returns the limit in force."""
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
    """Limits the size of websocket messages and the times of requests and responses, for all later connections.

    A second call has no effect.
    """
    if _bounded.is_set():
        return
    _bounded.set()
    begin_socket = WebSocketsSansIOProtocol.__init__

    def bounded_socket(self: Any, config: Any, *given: Any, **named: Any) -> None:
        config.ws_max_size = min(config.ws_max_size, messages.LARGEST)
        begin_socket(self, config, *given, **named)

    WebSocketsSansIOProtocol.__init__ = bounded_socket  # type: ignore[method-assign]
    on_connection, received, lost = H11Protocol.connection_made, H11Protocol.data_received, H11Protocol.connection_lost

    def connection_made(self: H11Protocol, transport: Any) -> None:
        on_connection(self, transport)
        _await_request(self)

    def data_received(self: H11Protocol, data: bytes) -> None:
        received(self, data)
        if _is_idle(self):  # the next request can begin on the same connection
            _await_request(self)

    def connection_lost(self: H11Protocol, exc: Exception | None) -> None:
        lost(self, exc)
        self._patience.cancel()  # type: ignore[attr-defined]  # it would keep what the connection has received

    H11Protocol.connection_made = connection_made  # type: ignore[method-assign]
    H11Protocol.connection_lost = connection_lost  # type: ignore[method-assign]
    H11Protocol.data_received = data_received  # type: ignore[method-assign]
    for protocol in (H11Protocol, WebSocketsSansIOProtocol):
        _limit_reading(protocol)


async def end_sessions() -> None:
    """Ends expired sessions every SWEEP seconds, in an endless loop."""
    while True:
        await asyncio.sleep(SWEEP)
        try:
            streamlit_internals.end_expired_sessions()
        except Exception:  # the next attempt may succeed; without it sessions would stay for ever
            _LOG.exception("sessions were not ended")


def _limit_reading(protocol: Any) -> None:
    """Closes the connections of a protocol whose browser reads nothing for READ_SECONDS, with the bytes kept for it."""
    pause, resume = protocol.pause_writing, protocol.resume_writing

    def pause_writing(self: Any) -> None:
        pause(self)
        self._unread = asyncio.get_running_loop().call_later(READ_SECONDS, self.transport.abort)

    def resume_writing(self: Any) -> None:
        resume(self)
        self._unread.cancel()

    protocol.pause_writing, protocol.resume_writing = pause_writing, resume_writing


def _is_idle(connection: H11Protocol) -> bool:
    """Returns True if the connection is not processing a request."""
    return connection.cycle is None or connection.cycle.response_complete


def _await_request(connection: H11Protocol) -> None:
    """Closes the connection if no complete request header arrives on it within REQUEST_SECONDS."""
    waits = getattr(connection, "_patience", None)
    if waits and not waits.cancelled():
        return
    before = connection.cycle

    def look() -> None:
        connection._patience.cancel()  # type: ignore[attr-defined]
        transport = connection.transport
        # the connection was closed or upgraded to a websocket
        if transport.is_closing() or transport.get_protocol() is not connection:
            return
        if connection.cycle is before and _is_idle(connection):
            transport.abort()

    loop = asyncio.get_running_loop()
    connection._patience = loop.call_later(REQUEST_SECONDS, look)  # type: ignore[attr-defined]


def sockets() -> limits.Room:
    """Returns the limit on open websockets, which follows from the process's limit of file descriptors."""
    most = max(1, (raise_descriptors() - OTHERS) // PER_VISIT)
    return limits.Room("sockets", address=min(PER_ADDRESS, max(1, most // 2)), process=most)
