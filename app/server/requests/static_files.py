"""Sends Streamlit's scripts and styles, and ours in app/static, compressed with gzip; compresses each file only once.

Streamlit sends its files uncompressed, because its own middleware would compress them again for every visitor.
"""

import functools
import gzip
from collections.abc import Mapping
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from app.server import streamlit_internals

# A font is already compressed; it is sent here for its Cache-Control.
TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".woff2": "font/woff2"}
SMALLEST = 1024  # bytes; gzip gains little for smaller files
# The name of every file contains a hash of its content or a version.
HEADERS = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding",
           "Cache-Control": "public, max-age=31536000, immutable"}
OWN = Path(__file__).resolve().parents[2] / "static"


def served_files() -> dict[str, Path]:
    """Returns path of a request, without the base path -> file, for all files that are worth compressing."""
    roots = {"/static/": streamlit_internals.static_folder() / "static", "/app/static/": OWN}
    return {f"{prefix}{file.relative_to(folder).as_posix()}": file for prefix, folder in roots.items()
            for file in folder.rglob("*")
            if file.suffix in TYPES and file.is_file() and file.stat().st_size >= SMALLEST}


@functools.cache
def compressed(file: Path) -> bytes:
    """Returns the content of a file, compressed with gzip."""
    return gzip.compress(file.read_bytes(), 6, mtime=0)


class StaticFiles:
    """ASGI middleware: answers requests for files of `served_files`, and passes all other requests on."""

    def __init__(self, app: ASGIApp, prefix: str = "", files: Mapping[str, Path] | None = None) -> None:
        """Finds the files once."""
        self._app, self._prefix = app, prefix
        self._files = served_files() if files is None else files

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Responds to one request, as ASGI defines it."""
        file = self._wanted(scope)
        if file is None:
            await self._app(scope, receive, send)
            return
        body = await run_in_threadpool(compressed, file)
        await Response(body, media_type=TYPES[file.suffix], headers=HEADERS)(scope, receive, send)

    def _wanted(self, scope: Scope) -> Path | None:
        if scope["type"] != "http" or scope["method"] != "GET" or not scope["path"].startswith(self._prefix):
            return None
        headers = Headers(scope=scope)
        if "gzip" not in headers.get("accept-encoding", "") or "range" in headers:
            return None
        return self._files.get(scope["path"][len(self._prefix):])
