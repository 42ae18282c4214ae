"""The events route: responds to a visitor's events with the changed payloads, without running the Streamlit script.

    POST {base}/lab/visits/ID/events   {"seen": SERIAL, "events": [{"key": COMPONENT, "sequence": N, ...}]}

The response is a sequence of binary blocks, each a uint32 little-endian length and a payload (components/payload.py).
The first block describes the response (`about` in `_present`), the others are payloads of components. Payloads that
take longer to compute, such as a translation, follow one by one at the end of the same response. In the description,
`layout` asks the browser to run the Streamlit script now, and `later` after it has displayed the payloads.

Status codes: 400: the body is not as above. 408: the body took longer than PATIENCE. 413: the body has more than
MAX_BODY bytes. 410: the session has ended or is in another process; the browser then sends its events through
Streamlit, which begins a new session with the state in the address.
"""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import AsyncIterator, Callable, Iterable
from functools import partial
from typing import Any

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from app import texts
from app.server import serving
from app.server.limits import LimitError
from app.state import visit
from app.state.visit import Visit
from app.views import ANSWERS
from components.channel import Picture, keyed
from components.mounting import Part
from components.payload import pack
from models.labs.foreign import ForeignError
from models.storage.checkpoint import CheckpointError

MAX_BODY = 2 * 2**20  # largest request in bytes; a text of 200,000 characters has up to 1.2 MB as JSON
MAX_EVENTS = 1024  # largest number of events per request; the browser sends at most 256 per component
PATIENCE = 10.0  # seconds within which the body must arrive
THREADS = 64  # number of threads for requests that compute or wait for a turn; further requests wait without a thread
# `identity` keeps Streamlit's middleware from compressing the response, which takes as long as the forward pass.
HEADERS = {"Content-Encoding": "identity", "Cache-Control": "no-store"}

# bytes to send at once, and functions that compute the late blocks, in the order in which they are sent
Answer = tuple[bytes, list[Callable[[], bytes]]]
ERRORS = (CheckpointError, ForeignError, LimitError)  # the script shows the reason on the page

_limiter: CapacityLimiter | None = None


def route(prefix: str = "") -> Route:
    return Route(f"{prefix}/lab/visits/{{visit}}/events", receive, methods=["POST"])


async def receive(request: Request) -> Response:
    now = visit.find(request.path_params["visit"])
    if now is None:
        return PlainTextResponse("This visit has ended.", 410)
    try:
        async with asyncio.timeout(PATIENCE):
            body = await _body(request)
    except TimeoutError:
        return PlainTextResponse("The request took too long.", 408)
    if body is None:
        return PlainTextResponse(f"More than {MAX_BODY} bytes.", 413)
    try:
        seen, events = parse(body)
    except ValueError as error:
        return PlainTextResponse(str(error), 400)
    first, late = await _in_thread(lambda: answer(now, seen, events))
    if not late:
        return Response(first, media_type="application/octet-stream", headers=HEADERS)

    async def blocks() -> AsyncIterator[bytes]:
        yield first
        for make in late:
            yield await _in_thread(make)
    return StreamingResponse(blocks(), media_type="application/octet-stream", headers=HEADERS)


async def _body(request: Request) -> bytes | None:
    """Returns the body; None as soon as more than MAX_BODY bytes have arrived."""
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > MAX_BODY:
            return None
        chunks.append(chunk)
    return b"".join(chunks)


async def _in_thread(work: Callable[[], Any]) -> Any:
    global _limiter
    _limiter = _limiter or CapacityLimiter(THREADS)
    return await to_thread.run_sync(work, limiter=_limiter)


def parse(body: bytes) -> tuple[int, list[tuple[str, Any]]]:
    """Returns the serial number of the newest displayed response, and (component key, event) pairs; raises ValueError.
    """
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError("expected JSON") from None
    seen, events = (sent.get("seen"), sent.get("events")) if isinstance(sent, dict) else (None, None)
    if type(seen) is not int or not isinstance(events, list) or len(events) > MAX_EVENTS:
        raise ValueError(f"expected seen, a number, and events, a list of at most {MAX_EVENTS}")
    return seen, keyed(events)


def answer(now: Visit, seen: int, events: Iterable[tuple[str, Any]]) -> Answer:
    """Passes the events to their handlers and returns the payloads that the browser must display again."""
    with visit.use(now):
        now.channel.receive(events)
        newest = now.channel.newest
        with serving.drawing():
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
    about |= {"layout": False, "later": content.is_outdated}
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
