"""Inserts a dark first background into Streamlit's page, for browsers whose system theme is dark."""

from __future__ import annotations

import gzip

import streamlit
from starlette.datastructures import MutableHeaders
from starlette.types import Message, Send


def style() -> str:
    """Returns the style element; its rule applies until Streamlit has drawn the app with the visitor's theme."""
    colour = streamlit.get_option("theme.dark.backgroundColor") or "#12121a"
    return ("<style>@media (prefers-color-scheme: dark) "
            f"{{ html:not(:has(.stApp)) {{ background: {colour} }} }}</style>")


def dark_start(send: Send) -> Send:
    """Wraps `send` of an HTTP request: inserts `style` at the end of the head of an HTML page.

    Streamlit has no option for its page. Every other response passes unchanged, and so does a page in an encoding
    other than gzip.
    """
    start: Message | None = None
    body = b""

    async def sent(message: Message) -> None:
        nonlocal start, body
        if message["type"] == "http.response.start" and _is_page(message):
            start = message
            return
        if start is None or message["type"] != "http.response.body":
            await send(message)
            return
        body += message.get("body", b"")
        if message.get("more_body", False):
            return
        headers = MutableHeaders(scope=start)
        if body:  # the answer to HEAD has no body
            body = _inserted(body, headers.get("content-encoding") == "gzip")
            headers["Content-Length"] = str(len(body))
        await send(start)
        await send({**message, "body": body})
    return sent


def _is_page(start: Message) -> bool:
    headers = MutableHeaders(scope=start)
    return (start["status"] == 200 and headers.get("content-type", "").startswith("text/html")
            and headers.get("content-encoding", "gzip") == "gzip")


def _inserted(body: bytes, compressed: bool) -> bytes:
    page = gzip.decompress(body) if compressed else body
    page = page.replace(b"</head>", style().encode() + b"</head>", 1)
    return gzip.compress(page) if compressed else page
