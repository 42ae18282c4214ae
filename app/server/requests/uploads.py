"""Limits on uploads: bytes of a visit, an address and the process, checked before the upload, and a time limit."""

import asyncio
import contextlib
import time
from collections.abc import Iterator

from starlette.types import Message, Receive

from app.server import limits, streamlit_internals

PATH, stored_bytes = streamlit_internals.UPLOAD_PATH, streamlit_internals.uploaded_bytes
LARGEST = 8 * limits.MB  # bytes of the largest file; server.maxUploadSize in .streamlit/config.toml
SECONDS = 60.0  # time limit of one upload in seconds

_address_of: dict[str, str] = {}  # session id -> address of its last upload


@contextlib.contextmanager
def place(path: str, announced: str | None, address: str = "") -> Iterator[tuple[int, str] | None]:
    """Reserves the bytes of one upload while the context is open; yields None, or status and message of the refusal.

    Without a Content-Length header, LARGEST bytes are reserved.
    """
    session = path.removeprefix(PATH).split("/", 1)[0]
    size = int(announced) if announced and announced.isdecimal() and len(announced) < 12 else LARGEST
    stored = {each: stored_bytes(each) for each in (session, *streamlit_internals.uploading_sessions())}
    for ended in _address_of.keys() - stored.keys():
        del _address_of[ended]
    of_address = sum(count for each, count in stored.items() if _address_of.get(each) == address)
    payer = limits.Payer(limits.of_session(session), limits.of_address(address))
    with payer.holds(limits.UPLOADS, size, (stored[session], of_address, stored_bytes())) as free:
        if free:
            _address_of[session] = address
            yield None
        elif stored[session] + payer.visit.used.get(limits.UPLOADS.name, 0.0) + size > limits.UPLOADS.visit:
            yield 413, "You have uploaded too much. Remove a file first."
        else:
            yield 503, "Too many files are held here at the moment."


def within_time(receive: Receive) -> Receive:
    """Wraps `receive` so that a request's body must arrive within SECONDS; afterwards it returns `http.disconnect`."""
    until = time.monotonic() + SECONDS

    async def received() -> Message:
        try:
            return await asyncio.wait_for(receive(), max(0.0, until - time.monotonic()))
        except TimeoutError:
            return {"type": "http.disconnect"}
    return received
