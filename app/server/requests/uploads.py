"""Limits on uploads: bytes per session and of all sessions (both checked before the upload), and a time limit."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterator

from starlette.types import Message, Receive

from app.server import streamlit_internals

PATH, stored_bytes = streamlit_internals.UPLOAD_PATH, streamlit_internals.uploaded_bytes
MB = 2**20
LARGEST = 8 * MB  # bytes of the largest file; server.maxUploadSize in .streamlit/config.toml
PER_VISIT = 17 * MB  # maximum bytes of the files of one session, with running uploads: two files of LARGEST
IN_ALL = 64 * MB  # maximum bytes of the files of all sessions
SECONDS = 60.0  # time limit of one upload in seconds

_arriving: Counter[str] = Counter()  # session id -> announced bytes of the session's running uploads
_lock = threading.Lock()


@contextlib.contextmanager
def place(path: str, announced: str | None) -> Iterator[tuple[int, str] | None]:
    """Reserves the bytes of one upload while the context is open; yields None, or status and message of the refusal.

    Without a Content-Length header, LARGEST bytes are reserved.
    """
    session = path.removeprefix(PATH).split("/", 1)[0]
    size = int(announced) if announced and announced.isdecimal() and len(announced) < 12 else LARGEST
    refusal = None
    with _lock:
        if stored_bytes(session) + _arriving[session] + size > PER_VISIT:
            refusal = 413, "You have uploaded too much. Remove a file first."
        elif stored_bytes() + _arriving.total() + size > IN_ALL:
            refusal = 503, "Too many files are held here at the moment."
        else:
            _arriving[session] += size
    try:
        yield refusal
    finally:
        if refusal is None:
            with _lock:
                _arriving[session] -= size
                if _arriving[session] <= 0:
                    del _arriving[session]


def within_time(receive: Receive) -> Receive:
    """Wraps `receive` so that a request's body must arrive within SECONDS; afterwards it returns `http.disconnect`."""
    until = time.monotonic() + SECONDS

    async def received() -> Message:
        try:
            return await asyncio.wait_for(receive(), max(0.0, until - time.monotonic()))
        except TimeoutError:
            return {"type": "http.disconnect"}
    return received
