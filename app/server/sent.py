"""Middleware for what Streamlit sends: its static files and ours, compressed once, and insertions into its page.

Streamlit sends its files uncompressed, because its own middleware would compress them again for every visitor. Its page
has no option for what the first paint needs: the background of the visitor's theme, and the style sheet. An element
that contains a style sheet is drawn later than other elements, because Streamlit loads the script of each kind of
element when it is first needed; other elements would then move (288, 80 and 19 px from the left, one after the other).
The page also gets a sentence for a page that has no connection after PATIENCE, because a proxy passes no websockets.
"""

import functools
import gzip
import json
from collections.abc import Mapping
from pathlib import Path

import streamlit
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import texts
from app.server import streamlit_internals
from app.texts import N_

# A font is already compressed; it is sent here for its Cache-Control.
TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".woff2": "font/woff2"}
SMALLEST = 1024  # bytes; gzip gains little for smaller files
# The name of every file contains a hash of its content or a version.
HEADERS = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding",
           "Cache-Control": "public, max-age=31536000, immutable"}
OWN = Path(__file__).resolve().parents[1] / "static"
PATIENCE = 5000  # ms
CONNECTED = "[data-test-connection-state=CONNECTED]"  # attribute of Streamlit's app
LATE = N_("No connection to the server. If it stays so, a proxy or firewall blocks websockets: use another network.")
# Streamlit stores the chosen theme under a name that contains the path of the page (components/runtime/streamlit.js).
# gate.py allows this script by its hash, so the script is constant.
SCRIPT = ("try{document.documentElement.dataset.firstTheme="
          "JSON.parse(localStorage.getItem(`stActiveTheme-${location.pathname}-v2`))}catch{}"
          f"setTimeout(()=>{{const is=()=>document.querySelector('{CONNECTED}'),page=document.documentElement.dataset;"
          "if(is())return;page.late=navigator.language.slice(0,2);"
          "const look=setInterval(()=>{if(is()){delete page.late;clearInterval(look)}},250)},"
          f"{PATIENCE})")
# A browser that has stored the page asks whether Streamlit's file has changed, and knows nothing of what is inserted.
CONDITIONS = (b"if-none-match", b"if-modified-since")


def served_files() -> dict[str, Path]:
    """Returns path of a request, without the base path -> file, for all files that are worth compressing."""
    roots = {"/static/": streamlit_internals.static_folder() / "static", "/app/static/": OWN}
    return {f"{prefix}{file.relative_to(folder).as_posix()}": file for prefix, folder in roots.items()
            for file in folder.rglob("*")
            if file.suffix in TYPES and file.is_file() and file.stat().st_size >= SMALLEST}


@functools.cache
def compressed(file: Path) -> bytes:
    return gzip.compress(file.read_bytes(), 6, mtime=0)


class StaticFiles:
    """ASGI middleware: answers requests for files of `served_files`, and passes all other requests on."""

    def __init__(self, app: ASGIApp, prefix: str = "", files: Mapping[str, Path] | None = None) -> None:
        self._app, self._prefix = app, prefix
        self._files = served_files() if files is None else files

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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


def head() -> str:
    """Returns a script that reads the chosen theme before the first paint, and the background until Streamlit draws."""
    dark = streamlit.get_option("theme.dark.backgroundColor") or "#12121a"
    light = streamlit.get_option("theme.light.backgroundColor") or "#ffffff"
    page = "html:not(:has(.stApp))"
    late = ""
    for number, code in enumerate(texts.LANGUAGES):
        texts.speak(code)
        chosen = f"[data-late={code}]" if number else "[data-late]"
        late += f"{chosen} body::after {{ content: {json.dumps(texts._(LATE), ensure_ascii=False)} }} "
    texts.speak(texts.ENGLISH)
    return (f"<script>{SCRIPT}</script><style>"
            f"@media (prefers-color-scheme: dark) {{ {page} {{ background: {dark} }} }} "
            f"{page}[data-first-theme=Dark] {{ background: {dark} }} "
            f"{page}[data-first-theme=Light] {{ background: {light} }} "
            "[data-late] body::after { position: fixed; inset: auto 1rem 1rem; z-index: 9999999; padding: 12px; "
            "background: #8a1c1c; color: #fff; font: 16px/1.4 sans-serif } "
            f"{late}</style>")


class FirstPaint:
    """ASGI middleware: inserts `head` and a style sheet into each HTML page; every other response is unchanged.

    A page in an encoding other than gzip is also unchanged; components/runtime/streamlit.js adds the style sheet later.
    """

    def __init__(self, app: ASGIApp, style: str) -> None:
        """Prepares the texts to insert; `style` is the last element of the page, because it overrides Streamlit's
        styles.
        """
        self._app, self._head, self._style = app, head().encode(), style.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if "text/html" in Headers(scope=scope).get("accept", ""):
            scope = {**scope, "headers": [(name, value) for name, value in scope["headers"]
                                          if name.lower() not in CONDITIONS]}
        await self._app(scope, receive, self._inserting(send))

    def _inserting(self, send: Send) -> Send:
        """Wraps `send` of one request: collects the body of a page and sends it with the insertions."""
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
            del headers["etag"], headers["last-modified"]  # of Streamlit's file
            if body:  # the answer to HEAD has no body
                body = self._inserted(body, headers.get("content-encoding") == "gzip")
                headers["Content-Length"] = str(len(body))
            await send(start)
            await send({**message, "body": body})
        return sent

    def _inserted(self, body: bytes, compressed: bool) -> bytes:
        page = gzip.decompress(body) if compressed else body
        page = page.replace(b"</head>", self._head + b"</head>", 1).replace(b"</body>", self._style + b"</body>", 1)
        return gzip.compress(page) if compressed else page


def _is_page(start: Message) -> bool:
    headers = MutableHeaders(scope=start)
    return (start["status"] == 200 and "content-disposition" not in headers  # not a download
            and headers.get("content-type", "").startswith("text/html")
            and headers.get("content-encoding", "gzip") == "gzip")
