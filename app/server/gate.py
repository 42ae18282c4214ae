"""The gate: what strangers reach of the server, and the headers that tell browsers what they may do with the app.

An ASGI middleware around all of Streamlit's routes (app/host.py).
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

import streamlit
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.server.health import HEALTH, uploaded

HOSTS, FRAMES = "ATTENTION_LAB_HOSTS", "ATTENTION_LAB_FRAMES"  # in the environment: words with blanks between
# Streamlit's own: numbers about the process (ours have a port of their own), and ways in that nothing here uses.
CLOSED = ("/_stcore/metrics", "/_stcore/script-health-check", "/_stcore/agent", "/oauth2callback", "/auth")
UPLOADS = "/_stcore/upload_file/"
MOST_UPLOADED = 64 * 2**20  # bytes of all visitors' files; what one of them chooses is 8 MB at most
_INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)
_HOST = re.compile(r"[\w.-]+(:\d+)?|\[[\da-fA-F:]+\](:\d+)?", re.ASCII)


class Gate:
    """Around an ASGI app."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str] = (), frames: Iterable[str] = ()) -> None:
        """
        Args:
            hosts: names by which the app is reached, `*.example.org` for all below one; none for any.
            frames: origins of pages that may show the app in a frame, beside its own.
        """
        self._app = app
        self._hosts = tuple(host.lower().rstrip(".") for host in hosts)
        self._frames = " ".join(["'self'", *frames])
        # Components' scripts come as blobs; WebAssembly does the 64-bit numbers of Streamlit's messages.
        self._scripts = " ".join(["'self'", "blob:", "'wasm-unsafe-eval'", *inline_scripts()])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers, path = Headers(scope=scope), scope["path"]
        refused = self._refused(headers, path, scope)
        if refused and scope["type"] == "websocket":
            await receive()  # websocket.connect
            await send({"type": "websocket.close", "code": 1008})
        elif refused:
            status, told = refused
            await PlainTextResponse(told, status)(scope, receive, self._with_headers(headers, send))
        else:
            await self._app(scope, receive, self._with_headers(headers, send))

    def _refused(self, headers: Headers, path: str, scope: Scope) -> tuple[int, str] | None:
        """Status and words for what does not get in; None for what does."""
        host = headers.get("host", "")
        if path != HEALTH and not self._knows(host):
            return 400, "This name is not known here."
        if any(path == closed or path.startswith(f"{closed}/") for closed in CLOSED):
            return 404, "Not found."
        if not _is_own(headers.get("origin"), host) and (scope["type"] == "websocket" or scope["method"] != "GET"):
            # Streamlit would ask the internet for this machine's own address, to compare.
            return 403, "This page belongs to another site."
        if path.startswith(UPLOADS) and scope["method"] == "PUT" and uploaded() > MOST_UPLOADED:
            return 503, "Too many files are held here at the moment."
        return None

    def _knows(self, host: str) -> bool:
        if not _HOST.fullmatch(host):
            return False
        name = re.sub(r":\d+$", "", host).lower().rstrip(".")
        return not self._hosts or any(name == known or known.startswith("*.") and name.endswith(known[1:])
                                      for known in self._hosts)

    def _with_headers(self, asked: Headers, send: Send) -> Send:
        host = asked.get("host", "")
        sockets = f" ws://{host} wss://{host}" if _HOST.fullmatch(host) else ""  # 'self' is not these in every browser
        policy = "; ".join((
            "default-src 'self'", f"script-src {self._scripts}", "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:", "font-src 'self' data:", f"connect-src 'self'{sockets}",
            "worker-src 'self' blob:", "object-src 'none'", "base-uri 'self'", "form-action 'self'",
            f"frame-ancestors {self._frames}"))

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["Content-Security-Policy"] = policy
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Referrer-Policy"] = "same-origin"  # an address holds what was typed
                headers["Permissions-Policy"] = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"
            await send(message)
        return sent


def words(setting: str) -> list[str]:
    """A setting of the environment that has several values."""
    return os.environ.get(setting, "").replace(",", " ").split()


def inline_scripts() -> list[str]:
    """The scripts that Streamlit's page holds itself, as a policy names them: by their SHA-256."""
    page = (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    digests = (hashlib.sha256(script.encode()).digest() for script in _INLINE.findall(page))
    return [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]


def _is_own(origin: str | None, host: str) -> bool:
    """True if a browser's page of this very app asks, or no browser at all."""
    if origin is None or not streamlit.get_option("server.enableCORS"):
        return True
    return urlsplit(origin).netloc == host or origin in streamlit.get_option("server.corsAllowedOrigins")
