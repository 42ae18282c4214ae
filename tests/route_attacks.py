"""Attacks on the events route, in a process of their own: `python -m tests.route_attacks NAME ADDRESS SECONDS`.

Prints `ready` when the visits are open, and begins when a line arrives. tests/strangers.py measures a neighbour.
"""

import asyncio
import contextlib
import json
import random
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, urlopen

from benchmarks.load.visitors import WORDS, cookie, header, open_link
from tests.strangers import ROUTE, compared, drain, visit

LARGE = 2 * 2**20  # bytes of the largest body that the route reads


@dataclass
class Guest:
    """A visit of the attacker, whose websocket stays open."""

    socket: Any
    id: str
    cookie: str

    @property
    def path(self) -> str:
        return f"/lab/visits/{self.id}/events"


class Route:
    """A connection to the events route that, like a browser's connection, stays open between requests."""

    answers = 0  # number of responses that all connections have read

    def __init__(self, address: str) -> None:
        self.cookie = ""  # of the balancer; it names the replica of the session
        self._place = urlsplit(address)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Sends a request and returns status and body of the response. Reopens a connection that the server closed."""
        for _ in range(2):
            try:
                if self._streams is None:
                    self._streams = await asyncio.open_connection(self._place.hostname, self._place.port)
                found = await self._exchange(path, body)
                Route.answers += 1
                return found
            except (asyncio.IncompleteReadError, ConnectionError):
                self.close()
        raise ConnectionError("closed twice")

    async def _exchange(self, path: str, body: bytes) -> tuple[int, bytes]:
        assert self._streams is not None
        reader, writer = self._streams
        cookie = f"Cookie: {self.cookie}\r\n" if self.cookie else ""
        head = f"POST {path} HTTP/1.1\r\nHost: {self._place.netloc}\r\n{cookie}Content-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        status = int(head.split(" ", 2)[1])
        length = next((int(line[15:]) for line in head.split("\r\n") if line.startswith("content-length:")), None)
        if length is not None:
            return status, await reader.readexactly(length)
        parts = []
        while size := int(await reader.readuntil(b"\r\n"), 16):
            parts.append(await reader.readexactly(size))
            await reader.readexactly(2)
        await reader.readexactly(2)
        return status, b"".join(parts)

    def close(self) -> None:
        """Closes the connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def arrive(address: str, stack: contextlib.AsyncExitStack, query: str) -> Guest:
    socket = await stack.enter_async_context(visit(address))
    page = await open_link(socket, query)
    reader = asyncio.create_task(drain(socket))
    stack.callback(reader.cancel)
    return Guest(socket, header(page, "bar")["visit"], cookie(socket)["Cookie"])


def body(*events: dict[str, Any]) -> bytes:
    first = time.time_ns() // 1000  # numbers of events only grow
    return json.dumps({"seen": 0, "events": [{"sequence": first + n, **event} for n, event in enumerate(events)]},
                      separators=(",", ":")).encode()


def typed() -> bytes:
    return body({"key": "lab", "type": "text", "text": " ".join(random.choices(WORDS, k=20))})


async def repeat(address: str, guest: Guest, make: Callable[[], bytes], stop: float, patience: float = 60.0) -> None:
    """Posts one body after the other over one connection, and closes it if a response takes longer than `patience`."""
    while time.monotonic() < stop:
        route = Route(address)
        route.cookie = guest.cookie
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError, ValueError):
            while time.monotonic() < stop:
                status, _ = await asyncio.wait_for(route.post(guest.path, make()), patience)
                if status == 429:
                    await asyncio.sleep(0.02)  # an attacker does not wait as long as the server asks
        route.close()
        await asyncio.sleep(0.01)


async def long_work(address: str, guests: list[Guest], stop: float) -> None:
    """150 visits ask for translations of 20 words and close the connection after a second."""
    await asyncio.gather(*(repeat(address, guest, typed, stop, 1.0) for guest in guests))


async def crowd(make: Callable[[], bytes], address: str, guests: list[Guest], stop: float) -> None:
    """One visit asks for nothing new (`body`), or sends new texts to four models (`typed`), over 400 connections."""
    await asyncio.gather(*(repeat(address, guests[0], make, stop) for _ in range(400)))


async def held_back(address: str, guests: list[Guest], stop: float) -> None:
    """500 connections send bodies of 2 MB without the last byte."""
    place, loop, almost = urlsplit(address), asyncio.get_running_loop(), b" " * (LARGE - 1)

    async def one(guest: Guest) -> None:
        cookie = f"Cookie: {guest.cookie}\r\n" if guest.cookie else ""
        head = f"POST {guest.path} HTTP/1.1\r\nHost: {place.netloc}\r\n{cookie}Content-Length: {LARGE}\r\n\r\n".encode()
        while time.monotonic() < stop:
            with contextlib.suppress(OSError, TimeoutError), socket.socket() as own:
                own.setblocking(False)
                await loop.sock_connect(own, (place.hostname, place.port))
                await loop.sock_sendall(own, head)
                await asyncio.wait_for(loop.sock_sendall(own, almost), 5)
                await asyncio.sleep(max(0.0, min(5.0, stop - time.monotonic())))
            await asyncio.sleep(0.1)

    await asyncio.gather(*(one(guests[n % len(guests)]) for n in range(500)))


async def empty_objects(address: str, guests: list[Guest], stop: float) -> None:
    """Eight connections send 690,000 empty objects per body."""
    objects = b'{"seen":0,"events":[' + b"{}," * 690_000 + b"{}]}"
    await asyncio.gather(*(repeat(address, guest, lambda: objects, stop) for guest in guests))


async def many_links(address: str, guests: list[Guest], stop: float) -> None:
    """One visit opens 250 links with plans of 7 kB in each message."""
    def make() -> bytes:
        plans = ["-".join(f"{random.randrange(4)}.{random.randrange(8)}g0.{random.randrange(10**6)}"
                          for _ in range(500)) for _ in range(250)]
        return body(*({"key": "bar", "type": "open", "query": f"model=stories-softmax&plan=self-{plan}"}
                      for plan in plans))

    await repeat(address, guests[0], make, stop)


async def many_files(address: str, guests: list[Guest], stop: float) -> None:
    """One visit asks for the same CSV file over 40 connections, again and again."""
    guest = guests[0]
    request = Request(address + guest.path.replace("/events", "/files/heads.csv"), headers={"Cookie": guest.cookie})

    def ask() -> None:
        with contextlib.suppress(OSError), urlopen(request, timeout=60) as answer:
            answer.read()

    async def again() -> None:
        while time.monotonic() < stop:
            await asyncio.to_thread(ask)

    await asyncio.gather(*(again() for _ in range(40)))


STORIES = urlencode({"model": "stories-softmax", "text": "The cat sat."})
TRANSLATION = urlencode({"model": "translation-softmax", "text": "We need it."})
# attack, number of visits, and their page
ATTACKS: dict[str, tuple[Callable[[str, list[Guest], float], Awaitable[None]], int, str]] = {
    "long work": (long_work, 150, TRANSLATION), "nothing new": (partial(crowd, body), 1, STORIES),
    "compare": (partial(crowd, typed), 1, compared("We need it.")), "held back": (held_back, 60, STORIES),
    "empty objects": (empty_objects, 8, STORIES), "many links": (many_links, 1, STORIES),
    "many files": (many_files, 1, urlencode({"model": "stories-softmax", "text": "word " * 200}))}
assert tuple(ATTACKS) == ROUTE


async def main(name: str, address: str, seconds: float) -> None:
    attack, count, query = ATTACKS[name]
    async with contextlib.AsyncExitStack() as stack:
        guests = [await arrive(address, stack, query) for _ in range(count)]
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        await attack(address, guests, time.monotonic() + seconds)
        assert Route.answers or name in ("held back", "many files"), "the attack read no response"


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
