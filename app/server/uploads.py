"""Bounds on files that visitors upload: bytes per visit and in all, counted before they arrive, and a time limit."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterator

from starlette.types import Message, Receive
from streamlit.runtime import Runtime

PATH = "/_stcore/upload_file/"  # followed by the session's id and the file's
MB = 2**20
LARGEST = 8 * MB  # bytes of one file; server.maxUploadSize in .streamlit/config.toml
PER_VISIT = 17 * MB  # bytes of one visit's files, those on their way included: two of the largest
IN_ALL = 64 * MB  # bytes of all visitors' files
SECONDS = 60.0  # that a file may take to arrive

_arriving: Counter[str] = Counter()  # session id -> bytes that its requests have announced
_lock = threading.Lock()


def held(session: str | None = None) -> int:
    """Bytes of the uploaded files that Streamlit holds, of one session or of all."""
    files = getattr(Runtime.instance().uploaded_file_mgr, "file_storage", {}) if Runtime.exists() else {}
    chosen = [*files.values()] if session is None else [files.get(session, {})]
    return sum(len(file.data) for of_session in chosen for file in [*of_session.values()])


@contextlib.contextmanager
def place(path: str, announced: str | None) -> Iterator[tuple[int, str] | None]:
    """A place for one upload as long as the context lasts.

    Args:
        path: of the request, from PATH on.
        announced: its Content-Length; without one the largest file is counted.

    Yields:
        None, or status and message of the refusal.
    """
    session = path.removeprefix(PATH).split("/", 1)[0]
    size = int(announced) if announced and announced.isdecimal() and len(announced) < 12 else LARGEST
    refusal = None
    with _lock:
        if held(session) + _arriving[session] + size > PER_VISIT:
            refusal = 413, "You have uploaded too much. Remove a file first."
        elif held() + _arriving.total() + size > IN_ALL:
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
    """`receive` of a request whose body must arrive within SECONDS; after that the client counts as gone."""
    until = time.monotonic() + SECONDS

    async def received() -> Message:
        try:
            return await asyncio.wait_for(receive(), max(0.0, until - time.monotonic()))
        except TimeoutError:
            return {"type": "http.disconnect"}
    return received
