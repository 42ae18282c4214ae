"""Limits on what browsers send: websocket messages, uploads, and connections with their times and descriptors.

Streamlit's protocol has messages for developers (`load_git_info`, `clear_cache`) that any visitor could send, and
Streamlit accepts messages of up to 200 MB: `is_allowed` passes only the message types that the app's pages send.
Streamlit configures uvicorn and has no settings for message size and times. Therefore `bound_server` patches uvicorn's
protocol classes, once per process.
"""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Iterator
from typing import Any

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from starlette.types import Message, Receive
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from app.server import limits, streamlit_internals
from app.server.limits import KB, MB
from app.server.streamlit_internals import UPLOAD_PATH, BackMsg, uploaded_bytes, uploading_sessions

LARGEST_MESSAGE = 1024 * KB  # bytes of a websocket message; the server closes a websocket that sends more

# BackMsg field -> maximum bytes of a message of this type. 100,000 Chinese characters in the text box are 300 kB.
_BYTES = {"rerun_script": 768 * KB, "file_urls_request": 4 * KB, "backend_operation_request": 4 * KB,
          "stop_script": 64, "app_heartbeat": 64}
_NUMBERS = {BackMsg.DESCRIPTOR.fields_by_name[name].number: size for name, size in _BYTES.items()}
MOST_FIELDS = 4  # largest number of top-level fields of a message: its type and debugging information from the browser
MOST_WIDGETS = 200  # largest number of widget values in one message; the largest page has 40
MOST_FILES = 8  # largest number of upload addresses in one request
LONGEST_NAME = 1000  # characters of the longest id of a widget, a fragment or a script
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
LARGEST_UPLOAD = 8 * MB  # bytes of the largest file; server.maxUploadSize in .streamlit/config.toml
UPLOAD_SECONDS = 60.0  # time limit of one upload in seconds
_address_of: dict[str, str] = {}  # session id -> address of its last upload


def is_allowed(data: bytes) -> bool:
    """Returns True if the bytes are a BackMsg of an allowed type within the limits of its type."""
    fields = fields_of(data)
    if fields is None or not fields or any(number not in _NUMBERS or len(data) > _NUMBERS[number]
                                           for number in fields):
        return False
    message = BackMsg()
    try:
        message.ParseFromString(data)
    except (DecodeError, RecursionError):
        return False
    if message.WhichOneof("type") not in _BYTES:  # an allowed number with another wire type is an unknown field
        return False
    if message.WhichOneof("type") == "rerun_script":
        run = message.rerun_script
        return (len(run.widget_states.widgets) <= MOST_WIDGETS and len(run.fragment_id) <= LONGEST_NAME
                and len(run.page_script_hash) <= LONGEST_NAME
                and all(len(widget.id) <= LONGEST_NAME for widget in run.widget_states.widgets))
    if message.WhichOneof("type") == "file_urls_request":
        return len(message.file_urls_request.file_names) <= MOST_FILES
    return True


def fields_of(data: bytes) -> set[int] | None:
    """Returns a message's top-level field numbers; None if too many, for which protobuf's parser takes seconds."""
    numbers: set[int] = set()
    place = 0
    for _ in range(MOST_FIELDS):
        if place == len(data):
            return numbers
        tag, place = _varint(data, place)
        if tag is None:
            return None
        numbers.add(tag >> 3)
        kind = tag & 7
        if kind == 0:
            size, place = 0, _varint(data, place)[1]
        elif kind == 2:
            length, place = _varint(data, place)
            size = -1 if length is None else length
        else:
            size = {1: 8, 5: 4}.get(kind, -1)
        if size < 0 or place + size > len(data):
            return None
        place += size
    return numbers if place == len(data) else None


def _varint(data: bytes, place: int) -> tuple[int | None, int]:
    """Returns the varint at index `place` and the index after it; None if the varint is truncated or too long."""
    value = 0
    for count, byte in enumerate(data[place:place + 10]):
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return value, place + count + 1
    return None, len(data) + 1


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
    """Limits sizes of websocket messages and times of requests and responses, once for all later connections."""
    if _bounded.is_set():
        return
    _bounded.set()
    begin_socket = WebSocketsSansIOProtocol.__init__

    def bounded_socket(self: Any, config: Any, *given: Any, **named: Any) -> None:
        config.ws_max_size = min(config.ws_max_size, LARGEST_MESSAGE)
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


@contextlib.contextmanager
def upload_place(path: str, announced: str | None, address: str = "") -> Iterator[tuple[int, str] | None]:
    """Reserves an upload's bytes, LARGEST_UPLOAD if unknown; yields None, or status and message of the refusal."""
    session = path.removeprefix(UPLOAD_PATH).split("/", 1)[0]
    size = int(announced) if announced and announced.isdecimal() and len(announced) < 12 else LARGEST_UPLOAD
    stored = {each: uploaded_bytes(each) for each in (session, *uploading_sessions())}
    for ended in _address_of.keys() - stored.keys():
        del _address_of[ended]
    of_address = sum(count for each, count in stored.items() if _address_of.get(each) == address)
    payer = limits.Payer(limits.of_session(session), limits.of_address(address))
    with payer.holds(limits.UPLOADS, size, (stored[session], of_address, uploaded_bytes())) as free:
        if free:
            _address_of[session] = address
            yield None
        elif stored[session] + payer.visit.used.get(limits.UPLOADS.name, 0.0) + size > limits.UPLOADS.visit:
            yield 413, "You have uploaded too much. Remove a file first."
        else:
            yield 503, "Too many files are held here at the moment."


def upload_within_time(receive: Receive) -> Receive:
    """Wraps `receive` so that a request's body must arrive within UPLOAD_SECONDS; then it returns `http.disconnect`."""
    until = time.monotonic() + UPLOAD_SECONDS

    async def received() -> Message:
        try:
            return await asyncio.wait_for(receive(), max(0.0, until - time.monotonic()))
        except TimeoutError:
            return {"type": "http.disconnect"}
    return received
