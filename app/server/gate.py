"""ASGI middleware that filters requests and websocket messages to Streamlit and adds security headers to responses.

app/host.py puts the middleware in front of all routes.
"""

import asyncio
import base64
import contextlib
import functools
import hashlib
import ipaddress
import logging
import os
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

import streamlit
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.server import incoming, limits, sent
from app.server.health import HEALTH
from app.server.streamlit_internals import UPLOAD_PATH, ForwardMsg, index_page, page_query

HOSTS, FRAMES = "ATTENTION_LAB_HOSTS", "ATTENTION_LAB_FRAMES"  # environment variables; values separated by blanks
# Routes of Streamlit that the app does not use: process metrics (the app has its own on another port) and sign-in.
CLOSED = ("/_stcore/metrics", "/_stcore/script-health-check", "/_stcore/agent", "/oauth2callback", "/auth")
UNKNOWN_HOST = f"This name is not known here. {HOSTS} in the environment of the app lists known names.\n"
OTHER_SITE = ("This page belongs to another site: its Origin differs from the Host header. "
              "A proxy must forward the Host header unchanged.\n")
_NEW_SESSION = ForwardMsg.DESCRIPTOR.fields_by_name["new_session"].number
_INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)
_HOST = re.compile(r"[\w.-]+(:\d+)?|\[[\da-fA-F:]+\](:\d+)?", re.ASCII)


class Gate:
    """Middleware around an ASGI app.

    Refuses unknown host names, closed routes, requests from pages of other sites, and uploads and websockets over the
    limits of incoming.py. Filters websocket messages in both directions: `_paced` to Streamlit, `_discreet` to the
    browser. Empty `hosts` accept any name, `*.example.org` every name below example.org; pages of the origins `frames`
    may show the app in a frame. With `local`, only `hosts`, the machine's own names and IP addresses are accepted: a
    page of another site whose name resolves to this machine after the page was loaded (DNS rebinding) could otherwise
    open folders. The browser loads the module at `preload` together with a page.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str] = (), frames: Iterable[str] = (),
                 local: bool = False, preload: str = "") -> None:
        self._app, self._local, self._preload = app, local, preload
        self._hosts = tuple(host.lower().rstrip(".") for host in hosts)
        self._frames = " ".join(["'self'", *frames])
        # Streamlit loads the components' scripts as blobs and decodes 64-bit numbers with WebAssembly.
        self._scripts = " ".join(["'self'", "blob:", "'wasm-unsafe-eval'", *inline_scripts()])
        self._sockets = incoming.sockets()
        base = streamlit.get_option("server.baseUrlPath").strip("/")
        self._base = f"/{base}" if base else ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers, path = Headers(scope=scope), self._without_base(scope["path"])
        refusal = self._refused(headers, path, scope)
        if scope["type"] == "websocket":
            await self._socket(scope, receive, send, headers, refusal)
            return
        if refusal:
            await self._answer(refusal, scope, receive, send)
            return
        with contextlib.suppress(ClientDisconnect):  # the upload timed out, or the browser disconnected
            if path.startswith(UPLOAD_PATH) and scope["method"] == "PUT":
                with incoming.upload_place(path, headers.get("content-length"), _address(scope)) as refusal:
                    if refusal:
                        await self._answer(refusal, scope, receive, send)
                    else:
                        await self._app(scope, incoming.upload_within_time(receive), self._with_headers(headers, send))
            else:
                await self._app(scope, receive, self._with_headers(headers, send))

    def _without_base(self, path: str) -> str:
        """Returns the path without the base path, as in Streamlit's routes; any other path is unchanged."""
        inside = self._base and (path == self._base or path.startswith(f"{self._base}/"))
        return path.removeprefix(self._base) if inside else path

    async def _answer(self, refusal: tuple[int, str], scope: Scope, receive: Receive, send: Send) -> None:
        status, message = refusal
        await PlainTextResponse(message, status)(scope, receive, self._with_headers(Headers(scope=scope), send))

    async def _socket(self, scope: Scope, receive: Receive, send: Send, headers: Headers,
                      refusal: tuple[int, str] | None) -> None:
        """Serves one websocket until it closes: counts it, filters its messages and limits their rate."""
        pays = _Socket(limits.Payer(address=limits.of_address(_address(scope))))
        with pays.payer.holds(self._sockets) as free:
            if refusal or not free:
                await receive()  # the first message is websocket.connect
                if refusal and "websocket.http.response" in scope.get("extensions", {}):
                    text = [(b"content-type", b"text/plain; charset=utf-8")]
                    await send({"type": "websocket.http.response.start", "status": refusal[0], "headers": text})
                    await send({"type": "websocket.http.response.body", "body": refusal[1].encode()})
                else:
                    await send({"type": "websocket.close", "code": 1008 if refusal else 1013})
                return
            page_query.set(_query(headers))
            await self._app(scope, _paced(receive, pays), _discreet(self._with_headers(headers, send), pays))

    def _refused(self, headers: Headers, path: str, scope: Scope) -> tuple[int, str] | None:
        """Returns the HTTP status and the message of a refusal, or None if the request is accepted."""
        host = headers.get("host", "")
        if path != HEALTH and not self._knows(host):
            _log(UNKNOWN_HOST, host, "")
            return 400, UNKNOWN_HOST
        if any(path == closed or path.startswith(f"{closed}/") for closed in CLOSED):
            return 404, "Not found."
        if not _is_own(headers.get("origin"), host) and (scope["type"] == "websocket" or scope["method"] != "GET"):
            # Without this check Streamlit queries an internet service for this machine's address, to compare origins.
            _log(OTHER_SITE, host, headers.get("origin", ""))
            return 403, OTHER_SITE
        return None

    def _knows(self, host: str) -> bool:
        if not _HOST.fullmatch(host):
            return False
        name = re.sub(r":\d+$", "", host).lower().rstrip(".")
        if any(name == known or known.startswith("*.") and name.endswith(known[1:]) for known in self._hosts):
            return True
        return is_this_machine(name) if self._local else not self._hosts

    def _with_headers(self, request_headers: Headers, send: Send) -> Send:
        host = request_headers.get("host", "")
        # Not every browser counts websockets of the same host as 'self'.
        sockets = f" ws://{host} wss://{host}" if _HOST.fullmatch(host) else ""
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
                # other sites must not see the address, which contains the input text
                headers["Referrer-Policy"] = "same-origin"
                if self._preload and headers.get("content-type", "").startswith("text/html"):
                    headers["Link"] = f"<{self._preload}>; rel=modulepreload"
                headers["Permissions-Policy"] = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"
            await send(message)
        return sent


@functools.lru_cache(256)
def _log(reason: str, host: str, origin: str) -> None:
    """Logs a refusal once for each pair of headers, so that a flood of requests does not fill the log."""
    logging.getLogger("attention_lab").warning("refused (Host %s, Origin %s): %s", host[:100], origin[:100], reason)


def _address(scope: Scope) -> str:
    """Returns the IP address of a request; behind a balancer, the address that the balancer reports."""
    return (scope.get("client") or ("",))[0]


def _query(headers: Headers) -> str:
    """Returns the query of the page that opens a websocket (sendAddressAtReconnect in runtime/streamlit.js)."""
    _, is_there, query = headers.get("sec-websocket-protocol", "").rpartition("address.")
    with contextlib.suppress(ValueError):
        return base64.urlsafe_b64decode(query + "=" * (-len(query) % 4)).decode().removeprefix("?") if is_there else ""
    return ""


@dataclass
class _Socket:
    """Who pays for the messages of one websocket: from its first message to the browser on, the visit."""

    payer: limits.Payer


def _paced(receive: Receive, pays: _Socket) -> Receive:
    """Wraps `receive` of a websocket: drops messages that are not allowed and delays messages over the limits."""
    async def received() -> Message:
        while True:
            message = await receive()
            if message["type"] != "websocket.receive":
                return message
            data, payer = message.get("bytes") or b"", pays.payer
            await asyncio.sleep(max(0.0, payer.take(limits.MESSAGES), payer.take(limits.BYTES, len(data)),
                                    payer.wait(limits.WORK)))
            if incoming.is_allowed(data):
                return message
    return received


def _discreet(send: Send, pays: _Socket) -> Send:
    """Wraps `send` of a websocket: removes the machine's paths, versions and installation ids from messages."""
    async def sent(message: Message) -> None:
        data = message.get("bytes")
        if data and _NEW_SESSION in (incoming.fields_of(data) or ()):
            forward = ForwardMsg()
            forward.ParseFromString(data)
            session = forward.new_session
            session.main_script_path = ""
            pays.payer = limits.Payer(limits.of_session(session.initialize.session_id), pays.payer.address)
            for part in (session.initialize.environment_info, session.initialize.user_info):
                for field in part.DESCRIPTOR.fields:
                    if field.type == field.TYPE_STRING:
                        # the field is emptied and not removed, because the browser requires it
                        setattr(part, field.name, "")
            message = {**message, "bytes": forward.SerializeToString()}
        await send(message)
    return sent


def is_this_machine(name: str) -> bool:
    """Returns True for `localhost`, this machine's host name and any IP address (DNS rebinding needs a host name)."""
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(name.strip("[]"))
        return True
    own = socket.gethostname().lower()
    return name in ("localhost", own, own.split(".")[0], f"{own.split('.')[0]}.local")


def words(setting: str) -> list[str]:
    """Returns the values of an environment variable, which are separated by blanks or commas."""
    return os.environ.get(setting, "").replace(",", " ").split()


def inline_scripts() -> list[str]:
    """Returns the SHA-256 source expressions of the inline scripts in the page, for the `script-src` policy."""
    scripts = [*_INLINE.findall(index_page()), sent.SCRIPT]
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    return [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]


def _is_own(origin: str | None, host: str) -> bool:
    """Returns True for a request from the app's own page or from a client that sends no Origin header."""
    if origin is None or not streamlit.get_option("server.enableCORS"):
        return True
    url = urlsplit(origin)
    return (_without_default_port(url.netloc, url.scheme) == _without_default_port(host, url.scheme)
            or origin in streamlit.get_option("server.corsAllowedOrigins"))


def _without_default_port(host: str, scheme: str) -> str:
    """Returns a host as a browser writes it: in lower case, and without the port that the scheme implies."""
    return host.lower().removesuffix({"http": ":80", "https": ":443"}.get(scheme, ""))
