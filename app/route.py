"""The events route: responds to a visitor's events with the changed payloads, without running the Streamlit script.

    POST {base}/lab/visits/ID/events   {"seen": SERIAL, "events": [{"key": COMPONENT, "sequence": N, ...}]}

The response is a sequence of binary blocks, each a uint32 little-endian length and a payload (components/payload.py).
The first block describes the response (`about` in `_present`), the others are payloads of components. Payloads that
take longer to compute, such as a translation, follow one by one at the end of the same response. In the description,
`layout` asks the browser to run the Streamlit script.

Status codes: 400: the body is not as above. 408: the body took longer than PATIENCE. 413: the body has more than
MAX_BODY bytes. 410: the session has ended or is in another process; the browser then sends its events through
Streamlit, which begins a new session with the state in the address. 429: the visit or its address is over a limit
(app/server/limits.py); the browser sends all its waiting events after the milliseconds in the header `retry-after-ms`.
In a late block, `again` has these milliseconds.
"""

import asyncio
import contextlib
import json
import math
import random
import struct
import zlib
from collections.abc import AsyncIterator, Callable, Iterable
from functools import partial
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from app import texts
from app.server import limits, serving
from app.server.limits import LimitError, Payer
from app.server.queueing import Queue
from app.state import visit
from app.state.visit import Visit
from app.views import ANSWERS
from components.channel import Picture, keyed
from components.mounting import Part
from components.payload import pack
from models.labs.foreign import ForeignError
from models.storage.checkpoint import CheckpointError

MAX_BODY = 2 * 2**20  # largest request in bytes; a text of 200,000 characters has up to 1.2 MB as JSON
SMALL = 2**16  # bytes of a body that need no room; uvicorn has received as many when the route begins
# Largest number of bytes outside strings, and of quotes: parsing JSON holds the GIL. 256 events have 30 kB.
MAX_SYNTAX, MAX_QUOTES = 2**17, 100_000
MAX_EVENTS = 1024  # largest number of events per request; the browser sends at most 256 per component
PATIENCE = 10.0  # seconds within which the body must arrive
# uvicorn would read the rest of a body that the route does not read, and throw it away
UNREAD = {"Connection": "close"}
LATER = 1.0  # seconds after which a request without a place is sent again
HEADERS = {"Cache-Control": "no-store", "Vary": "Accept-Encoding"}
LEVEL = 1  # of zlib: half of the bytes for 0.8 ms at 128 tokens; Streamlit's middleware would take as long as the model

# bytes to send at once, and functions that compute the late blocks, in the order in which they are sent
Answer = tuple[bytes, list[Callable[[], bytes]]]
ERRORS = (CheckpointError, ForeignError, LimitError)  # the script shows the reason on the page
T = TypeVar("T")

_limiter: CapacityLimiter | None = None  # of threads; one per place of the queues, and some that end

class BodyError(ValueError):
    """The body is not as described above."""


class AgainError(Exception):
    """The request must be sent again after some seconds."""

    def __init__(self, seconds: float = LATER, hold: float = LATER, unread: bool = False) -> None:
        super().__init__(seconds)
        self.milliseconds, self.hold, self.headers = max(1, round(1000 * seconds)), hold, UNREAD if unread else {}


async def refused(again: AgainError) -> Response:
    """Returns the refusal after a wait: answering a flood at once would keep the event loop busy."""
    await asyncio.sleep(again.hold * random.uniform(0.5, 1))
    return PlainTextResponse("Send this again later.", 429, {
        "Retry-After": str(-(-again.milliseconds // 1000)), "Retry-After-Ms": str(again.milliseconds), **again.headers})


def route(prefix: str = "") -> Route:
    return Route(f"{prefix}/lab/visits/{{visit}}/events", Events(), methods=["POST"])


class Events:
    """The route as an ASGI app. Waiting requests have no thread; work that nobody waits for any more ends."""

    def __init__(self) -> None:
        # As many as pages may be in progress (serving.py); a visit's browser sends a newer request while one computes.
        self._short, self._long = Queue(4, per_visit=2), Queue(1, per_visit=1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        with contextlib.ExitStack() as held:
            try:
                response = await self._respond(request, held)
            except AgainError as again:
                response = await refused(again)
            await response(scope, receive, send)

    async def _respond(self, request: Request, held: contextlib.ExitStack) -> Response:
        now = visit.find(request.path_params["visit"])
        if now is None:
            return PlainTextResponse("This visit has ended.", 410)
        payer = Payer(now.allowance, limits.of_address(request.client.host if request.client else None))
        large = float(request.headers.get("content-length", math.inf)) > SMALL
        if not held.enter_context(payer.holds(limits.REQUESTS)):  # no browser sends as many requests at once
            raise AgainError(hold=PATIENCE, unread=large)
        if (seconds := max(payer.wait(limits.WORK), payer.refusal(limits.MESSAGES))) > 0:
            raise AgainError(max(LATER, seconds), unread=large)
        if large and not held.enter_context(payer.holds(limits.BODIES)):
            raise AgainError(unread=True)
        try:
            async with asyncio.timeout(PATIENCE):
                body = await _body(request)
        except TimeoutError:
            return PlainTextResponse("The request took too long.", 408, UNREAD)
        if body is None:
            return PlainTextResponse(f"More than {MAX_BODY} bytes.", 413, UNREAD)
        if (seconds := payer.take(limits.BYTES, len(body))) > PATIENCE:
            raise AgainError(seconds)
        await asyncio.sleep(seconds)
        gone = asyncio.create_task(_until_gone(request))
        held.callback(gone.cancel)
        encoded, headers = _encoder(request)

        def work() -> Answer:
            first, late = answer(now, *parse(body))
            return encoded(first, not late), late
        try:
            first, late = await self._run(work, payer, gone)
        except BodyError as error:
            return PlainTextResponse(str(error), 400)
        except serving.OvertakenError:  # the response to the newer request contains all changes
            first, late = encoded(b"", True), []
        if not late:
            return Response(first, media_type="application/octet-stream", headers=headers)

        async def blocks() -> AsyncIterator[bytes]:
            yield first
            for make in late:
                try:
                    yield encoded(await self._run(make, payer, gone), False)
                except serving.OvertakenError:
                    break
                except AgainError as again:
                    yield encoded(_blocks([pack({"again": again.milliseconds})]), False)
                    break
            yield encoded(b"", True)
        return StreamingResponse(blocks(), media_type="application/octet-stream", headers=headers)

    async def _run(self, work: Callable[[], T], payer: Payer, gone: asyncio.Task[None]) -> T:
        """Runs work in a thread when it is the visit's turn. Long work waits without a thread for a turn of its own."""
        def run() -> T:
            with serving.only_while(lambda: not gone.done()):
                return work()

        def run_short() -> T:
            with serving.only_short():
                return run()

        with contextlib.suppress(serving.LongWorkError):
            async with self._short.place(payer.visit, gone):
                return await _in_thread(run_short)
        with payer.holds(limits.LONG) as free:
            if not free:
                raise AgainError
            async with self._long.place(payer.visit, gone):
                return await _in_thread(run)


def _encoder(request: Request) -> tuple[Callable[[bytes, bool], bytes], dict[str, str]]:
    """Returns headers, and a function (bytes, whether they are the last) -> bytes that the browser can read at once."""
    if "deflate" not in request.headers.get("accept-encoding", ""):
        return lambda block, _is_last: block, HEADERS | {"Content-Encoding": "identity"}
    packer = zlib.compressobj(LEVEL)

    def encoded(block: bytes, is_last: bool) -> bytes:
        return packer.compress(block) + packer.flush(zlib.Z_FINISH if is_last else zlib.Z_SYNC_FLUSH)
    return encoded, HEADERS | {"Content-Encoding": "deflate"}


async def _until_gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _body(request: Request) -> bytes | None:
    """Returns the body; None as soon as more than MAX_BODY bytes have arrived."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            return None
    return bytes(body)


async def _in_thread(work: Callable[[], T]) -> T:
    global _limiter
    _limiter = _limiter or CapacityLimiter(8)

    def run() -> T:
        try:
            return work()
        except (serving.LongWorkError, serving.OvertakenError) as error:
            # The error, its future and the waiting frame refer to one another: with its traceback, the weights in the
            # frames of the work would stay in memory until the next garbage collection.
            raise error.with_traceback(None) from None
    return await to_thread.run_sync(run, limiter=_limiter)


def parse(body: bytes) -> tuple[int, list[tuple[str, Any]]]:
    """Returns the number of the newest displayed response, and (component key, event) pairs; raises BodyError."""
    plain = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    if plain.count(b'"') > MAX_QUOTES or sum(map(len, plain.split(b'"')[::2])) > MAX_SYNTAX:
        raise BodyError(f"expected at most {MAX_SYNTAX} bytes outside strings")
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError):
        raise BodyError("expected JSON") from None
    seen, events = (sent.get("seen"), sent.get("events")) if isinstance(sent, dict) else (None, None)
    if type(seen) is not int or not isinstance(events, list) or len(events) > MAX_EVENTS:
        raise BodyError(f"expected seen, a number, and events, a list of at most {MAX_EVENTS}")
    return seen, keyed(events)


def answer(now: Visit, seen: int, events: Iterable[tuple[str, Any]]) -> Answer:
    """Passes the events to their handlers and returns the payloads that the browser must display again."""
    with visit.use(now):
        is_new, latest = now.channel.receive(events), now.channel.latest
        newest = now.channel.newest
        if not is_new and (latest.serial, latest.newest) == (seen, newest):
            return b"", []  # the browser displays the newest response, and nothing has changed
        with serving.drawing():
            serving.begin()
            # If another request brought newer events during the wait for a turn, its response contains all changes.
            return (_blocks([]), []) if now.channel.newest != newest else _present(now, seen)


def _present(now: Visit, seen: int) -> Answer:
    with now.channel.lock:
        picture, state, problems = now.channel.picture(), now.history.present, now.history.problems
    texts.speak(state.language)
    about = {"serial": picture.serial, "answered": picture.newest, "visit": now.channel.id,
             "received": picture.received, "language": state.language}
    answers = ANSWERS.get(state.page)
    try:
        with serving.only_while(lambda: now.channel.newest == picture.newest):
            content = answers and answers(state, problems)
    except serving.OvertakenError:  # the response to the newer events contains all changes
        return _blocks([]), []
    except ERRORS:
        content = None
    if content is None:
        return _blocks([pack(about | {"layout": True, "count": 0})]), []
    changed = _changed(now, content.parts, picture, seen)
    about |= {"layout": False}
    late: list[Callable[[], bytes]] = [
        partial(_late, now, make, picture, state.language, seen, about) for make in content.late]
    return _blocks([pack(about | {"count": len(changed)}), *changed]), late


def _late(now: Visit, make: Callable[[], Part], picture: Picture, language: str, seen: int,
          about: dict[str, Any]) -> bytes:
    """Returns a late block; empty if newer events have arrived, because their response contains this part."""
    def is_wanted() -> bool:
        return now.channel.newest == picture.newest

    if not is_wanted():
        return b""
    with visit.use(now), serving.drawing(), serving.only_while(is_wanted):
        texts.speak(language)
        try:
            return _blocks(_changed(now, [make()], picture, seen)) if is_wanted() else b""
        except serving.OvertakenError:
            return b""
        except ERRORS:
            return _blocks([pack(about | {"layout": True, "count": 0})])


def _changed(now: Visit, parts: Iterable[Part], picture: Picture, seen: int) -> list[bytes]:
    """Returns payloads of what has changed, and of responses after `seen`, because a response may have been lost."""
    channel, blocks = now.channel, []
    with channel.lock:
        if channel.displayed.serial > picture.serial:  # the script has sent newer payloads
            return []
        for part in parts:
            sent = channel.sent.setdefault(part.key, {})
            if any(serial > picture.serial for _, serial in sent.values()):  # a newer response has sent a newer payload
                continue
            channel.handlers[part.key] = part.on_event
            now_sent = {name: part.fingerprints.get(name, b"") for name in {*sent, *part.fingerprints}}
            changes = {name for name, fingerprint in now_sent.items()
                       if name not in sent or sent[name][0] != fingerprint or sent[name][1] > seen}
            if changes:
                blocks.append(part.payload(None if changes.issuperset(part.fingerprints) else changes))
            sent |= {name: (now_sent[name], picture.serial) for name in changes}
    return blocks


def _blocks(payloads: Iterable[bytes]) -> bytes:
    return b"".join(struct.pack("<I", len(payload)) + payload for payload in payloads)
