"""The gate: which requests and websocket messages reach Streamlit, and the headers that browsers obey.

An ASGI middleware around all of Streamlit's routes (app/host.py).
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

import streamlit
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from app.server import connections, messages, uploads
from app.server.health import HEALTH

HOSTS, FRAMES = "ATTENTION_LAB_HOSTS", "ATTENTION_LAB_FRAMES"  # in the environment: words with blanks between
# Streamlit's own: numbers about the process (ours have a port of their own), and ways in that nothing here uses.
CLOSED = ("/_stcore/metrics", "/_stcore/script-health-check", "/_stcore/agent", "/oauth2callback", "/auth")
_NEW_SESSION = ForwardMsg.DESCRIPTOR.fields_by_name["new_session"].number
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
        self._sockets = connections.sockets()
        base = streamlit.get_option("server.baseUrlPath").strip("/")
        self._base = f"/{base}" if base else ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers, path = Headers(scope=scope), scope["path"].removeprefix(self._base)
        refusal = self._refused(headers, path, scope)
        if scope["type"] == "websocket":
            await self._socket(scope, receive, send, headers, refused=refusal is not None)
        elif refusal:
            await self._answer(refusal, scope, receive, send)
        elif path.startswith(uploads.PATH) and scope["method"] == "PUT":
            with uploads.place(path, headers.get("content-length")) as refusal:
                if refusal:
                    await self._answer(refusal, scope, receive, send)
                else:
                    with contextlib.suppress(ClientDisconnect):  # it took too long, or its browser is gone
                        await self._app(scope, uploads.within_time(receive), self._with_headers(headers, send))
        else:
            await self._app(scope, receive, self._with_headers(headers, send))

    async def _answer(self, refusal: tuple[int, str], scope: Scope, receive: Receive, send: Send) -> None:
        status, message = refusal
        await PlainTextResponse(message, status)(scope, receive, self._with_headers(Headers(scope=scope), send))

    async def _socket(self, scope: Scope, receive: Receive, send: Send, headers: Headers, refused: bool) -> None:
        """One websocket, as long as it lives: a place for it, messages of allowed types, and no faster than Pace."""
        with self._sockets.place((scope.get("client") or ("",))[0]) as free:
            if refused or not free:
                await receive()  # websocket.connect
                await send({"type": "websocket.close", "code": 1008 if refused else 1013})
                return
            await self._app(scope, _paced(receive), _discreet(self._with_headers(headers, send)))

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


def _paced(receive: Receive) -> Receive:
    """`receive` of a websocket without the messages that no page of the app sends, at the pace of one visitor."""
    pace = messages.Pace()

    async def received() -> Message:
        while True:
            message = await receive()
            if message["type"] != "websocket.receive":
                return message
            data = message.get("bytes") or b""
            if delay := pace.delay(len(data)):
                await asyncio.sleep(delay)
            if messages.is_allowed(data):
                return message
    return received


def _discreet(send: Send) -> Send:
    """`send` of a websocket without what Streamlit says of this machine: its paths, versions and installation ids."""
    async def sent(message: Message) -> None:
        data = message.get("bytes")
        if data and _NEW_SESSION in (messages.fields_of(data) or ()):
            forward = ForwardMsg()
            forward.ParseFromString(data)
            session = forward.new_session
            session.main_script_path = ""
            for part in (session.initialize.environment_info, session.initialize.user_info):
                for field in part.DESCRIPTOR.fields:
                    if field.type == field.TYPE_STRING:
                        setattr(part, field.name, "")  # the browser expects the parts to be there
            message = {**message, "bytes": forward.SerializeToString()}
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
