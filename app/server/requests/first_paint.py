"""Inserts the first background of the visitor's theme into Streamlit's page: the system's theme, or the chosen one."""

from __future__ import annotations

import gzip

import streamlit
from starlette.datastructures import MutableHeaders
from starlette.types import Message, Send

# Streamlit stores the chosen theme under a name that contains the path of the page (components/runtime/streamlit.js).
# gate.py allows this script by its hash, so the script is constant.
SCRIPT = ("try{document.documentElement.dataset.firstTheme="
          "JSON.parse(localStorage.getItem(`stActiveTheme-${location.pathname}-v2`))}catch{}")


def head() -> str:
    """Returns a script that reads the chosen theme before the first paint, and the style of the first background.

    The style applies until Streamlit has drawn the app with the visitor's theme.
    """
    dark = streamlit.get_option("theme.dark.backgroundColor") or "#12121a"
    light = streamlit.get_option("theme.light.backgroundColor") or "#ffffff"
    page = "html:not(:has(.stApp))"
    return (f"<script>{SCRIPT}</script><style>"
            f"@media (prefers-color-scheme: dark) {{ {page} {{ background: {dark} }} }} "
            f"{page}[data-first-theme=Dark] {{ background: {dark} }} "
            f"{page}[data-first-theme=Light] {{ background: {light} }}</style>")


def themed_start(send: Send) -> Send:
    """Wraps `send` of an HTTP request: inserts `head` at the end of the head of an HTML page.

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
    page = page.replace(b"</head>", head().encode() + b"</head>", 1)
    return gzip.compress(page) if compressed else page
