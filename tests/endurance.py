"""Tests a hosted app for minutes: a class with three attackers, or visitors whose connections are cut.

    python -m tests.endurance class                # 200 visitors and 3 strangers, seven minutes
    python -m tests.endurance class --balanced     # the same behind HAProxy, on two replicas
    python -m tests.endurance sockets              # 40 visitors, 100 cut connections, eight minutes

Every visitor changes heads through the events route and sometimes opens a link. `class` fails at any error of a visitor
and at a p95 over 500 ms. `sockets` fails if, one minute after the last visitor has left, memory, descriptors or threads
are over 110% of their values at the start. The command starts the app itself, on the loopback interface, and prints one
line of JSON per part, with the machine's load.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from benchmarks.load.soak import hosted
from benchmarks.load.visitors import FINISHED, WORDS
from components.payload import unpack
from tests.protocol import Page, host
from tests.strangers import ATTACKS, usage, visit

EVERY = 6.0  # mean seconds between two actions of a visitor
ARRIVAL = 0.3  # seconds between the arrivals of two visitors of a class; actions during the arrival do not count
LINKS = 0.1  # fraction of the actions that open a link; all other actions change heads
PATIENCE = 60.0  # seconds within which a response must arrive
LAYERS, HEADS = 4, 8  # shape of the stories models
LIMIT = 500.0  # limit of the p95 for a class, in milliseconds
GROWTH = 1.1
REST = 60.0  # seconds after the last visitor, within which memory, descriptors and threads must be freed


@dataclass
class Record:
    """The duration of every action in milliseconds, and descriptions of errors."""

    times: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def row(self, part: str, **more: Any) -> dict[str, Any]:
        """Returns the results as one row."""
        taken = sorted(self.times) or [0.0]
        return {"part": part, "actions": len(self.times), "p50 ms": round(taken[len(taken) // 2]),
                "p95 ms": round(taken[int(len(taken) * 0.95)]), "max ms": round(taken[-1]), "errors": len(self.errors),
                "first errors": sorted(set(self.errors))[:3], "load": round(os.getloadavg()[0], 1), **more}


class Route:
    """A connection to the events route that, like a browser's connection, stays open between requests.

    Args:
        address: address of the app.

    Attributes:
        cookie: cookie of the balancer, which names the replica of the session; empty without a balancer.
    """

    def __init__(self, address: str) -> None:
        self.cookie = ""
        self._place = urlsplit(address)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Sends a request and returns status and body of the response. Reopens a connection that the server closed."""
        for _ in range(2):
            try:
                if self._streams is None:
                    self._streams = await asyncio.open_connection(self._place.hostname, self._place.port)
                return await self._exchange(path, body)
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


class Visitor:
    """A visitor who works with one text: changes heads through the events route and sometimes opens a link.

    Args:
        address: address of the app.
        record: receives times and errors.
        seed: seed of the visitor's choices.
    """

    def __init__(self, address: str, record: Record, seed: int) -> None:
        self.address, self.record, self.draw = address, record, random.Random(seed)
        self.socket: Any = None
        self.may_be_cut = False
        self._page, self._sequence = Page(), 0
        self._arrived = asyncio.Event()
        self._failed: list[str] = []

    async def work(self, stop: float, may_be_cut: bool = False, after: float = 0.0) -> None:
        """Acts until the time `stop` of time.perf_counter."""
        self.may_be_cut = may_be_cut
        await asyncio.sleep(after)
        while time.perf_counter() < stop:
            route = Route(self.address)
            try:
                async with visit(self.address) as self.socket:
                    route.cookie = self.socket.response.headers.get("Set-Cookie", "").split(";")[0]
                    reader = asyncio.create_task(self._read(self.socket))
                    try:
                        await self._open_link()
                        while time.perf_counter() < stop:
                            pause = self.draw.expovariate(1 / EVERY)
                            await asyncio.sleep(min(pause, max(0.0, stop - time.perf_counter())))
                            await (self._open_link() if self.draw.random() < LINKS else self._change(route))
                    finally:
                        reader.cancel()
            except (OSError, TimeoutError, websockets.WebSocketException) as error:
                if not may_be_cut:
                    self.record.errors.append(f"cut off: {error!r}"[:160])
                    return
                await asyncio.sleep(0.5)
            finally:
                route.close()

    async def _read(self, socket: Any) -> None:
        with contextlib.suppress(websockets.ConnectionClosed):
            async for data in socket:
                message = ForwardMsg.FromString(data)
                if message.WhichOneof("type") == "delta":
                    self._page.look(message)
                    if message.delta.new_element.HasField("exception"):
                        self._failed.append(message.delta.new_element.exception.message[:120])
                elif message.WhichOneof("type") == "script_finished" and message.script_finished in FINISHED:
                    self._arrived.set()

    async def _open_link(self) -> None:
        text = " ".join(self.draw.choices(WORDS, k=self.draw.randint(12, 40)))
        message = BackMsg()
        message.rerun_script.query_string = urlencode({"model": "stories-softmax", "text": text})
        message.rerun_script.is_history_navigation = True
        self._arrived.clear()
        began = time.perf_counter()
        await self.socket.send(message.SerializeToString())
        await asyncio.wait_for(self._arrived.wait(), PATIENCE)
        self.record.times.append((time.perf_counter() - began) * 1e3)
        self.record.errors += self._failed
        self._failed.clear()

    async def _change(self, route: Route) -> None:
        self._sequence += 1
        change = self.draw.choice(({"type": "select"}, {"type": "heads", "gate": 0.0}, {"type": "heads", "gate": 1.0}))
        event = {"key": "lab", "sequence": self._sequence, "layer": self.draw.randrange(LAYERS),
                 "head": self.draw.randrange(HEADS), "scope": "head", "kind": "self", **change}
        body = json.dumps({"seen": 0, "events": [event]}).encode()
        began = time.perf_counter()
        status, answer = await asyncio.wait_for(route.post(f"/lab/visits/{self._page.visit}/events", body), PATIENCE)
        self.record.times.append((time.perf_counter() - began) * 1e3)
        if status == 410 and self.may_be_cut:
            raise ConnectionError("the visit has ended")  # a browser would then start a new session
        if status != 200:
            self.record.errors.append(f"events: status {status}")
        elif unpack(answer[4:4 + int.from_bytes(answer[:4], "little")])[0]["answered"] < self._sequence:
            self.record.errors.append("events: not answered")


@contextmanager
def site(balanced: bool) -> Iterator[tuple[str, list[int]]]:
    """Yields the address of the app in hosted mode, and a list with its process id.

    With `balanced` there are two replicas behind HAProxy, and the list is empty.
    """
    if balanced:
        with hosted(8670) as (address, _process, _metrics):
            yield address, []
        return
    with host() as server:
        assert server._process is not None
        yield server.address, [server._process.pid]


@contextlib.asynccontextmanager
async def strangers(address: str, count: int, stop: float) -> AsyncIterator[None]:
    """Runs attackers in the background until `stop`. Each of them uses all attacks, in a separate random order."""
    async def attack(seed: int) -> None:
        draw, names = random.Random(seed), [*ATTACKS]
        while time.perf_counter() < stop:
            draw.shuffle(names)
            for name in names:
                if time.perf_counter() < stop:
                    left = max(0.1, min(24.0, stop - time.perf_counter()))
                    with contextlib.suppress(Exception):  # an attack may end with any error
                        await asyncio.wait_for(ATTACKS[name](address), left)

    tasks = [asyncio.create_task(attack(seed)) for seed in range(count)]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def hold_class(address: str, visitors: int, seconds: float) -> list[dict[str, Any]]:
    """Returns three rows: the arrival of the class, a minute without attackers, and the part with three attackers."""
    now, rows = time.perf_counter, []
    arrived = now() + ARRIVAL * visitors + 2 * EVERY
    alone = arrived + min(60.0, seconds)
    stop = alone + seconds
    people = [Visitor(address, Record(), seed) for seed in range(visitors)]
    work = asyncio.gather(*(person.work(stop, after=ARRIVAL * number) for number, person in enumerate(people)))
    for part, count, until in (("arrival", 0, arrived), ("class alone", 0, alone),
                               ("class with three strangers", 3, stop)):
        record = Record()
        for person in people:
            person.record = record
        async with strangers(address, count, until):
            await asyncio.sleep(until - now())
        rows.append(record.row(part, visitors=visitors, strangers=count))
        print(json.dumps(rows[-1]), flush=True)
    await work
    return rows


async def cut_sockets(address: str, process: int, visitors: int, cuts: int, seconds: float) -> list[dict[str, Any]]:
    """Returns memory, threads and descriptors of the process before the visitors come, and a minute after they left."""
    rows = []
    for part, count, length in (("before", 0, min(60.0, seconds)), ("after", cuts, seconds)):
        record, stop = Record(), time.perf_counter() + length
        people = [Visitor(address, record, seed) for seed in range(visitors)]
        work = asyncio.gather(*(person.work(stop, may_be_cut=True, after=ARRIVAL * number)
                                for number, person in enumerate(people)))
        for number in range(count):
            at = stop - length + 0.95 * length * (number + 1) / count
            await asyncio.sleep(max(0.0, at - time.perf_counter()))
            victim = random.choice(people)
            if victim.socket is not None:
                victim.socket.transport.abort()  # no closing handshake, as after a network failure
        await work
        await asyncio.sleep(REST)
        rows.append(record.row(part, cuts=count, **{name: round(value) for name, value in usage(process).items()}))
        print(json.dumps(rows[-1]), flush=True)
    return rows


def broken(rows: list[dict[str, Any]]) -> list[str]:
    """Returns a description of each limit that the rows exceed."""
    found = [f"{row['part']}: {row['errors']} errors" for row in rows if row["errors"]]
    if "visitors" in rows[-1]:
        return found + ([f"p95 {rows[-1]['p95 ms']} ms"] if rows[-1]["p95 ms"] > LIMIT else [])
    before, after = rows
    return found + [f"{name}: {before[name]} before, {after[name]} after" for name in ("MB", "threads", "descriptors")
                    if after[name] > GROWTH * before[name]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("class", "sockets"))
    parser.add_argument("--balanced", action="store_true", help="two replicas behind HAProxy; with class")
    parser.add_argument("--visitors", type=int)
    parser.add_argument("--minutes", type=float, default=5.0)
    asked = parser.parse_args()
    with site(asked.balanced and asked.what == "class") as (address, processes):
        work: Awaitable[list[dict[str, Any]]]
        if asked.what == "class":
            work = hold_class(address, asked.visitors or 200, 60 * asked.minutes)
        else:
            work = cut_sockets(address, processes[0], asked.visitors or 40, round(20 * asked.minutes),
                               60 * asked.minutes)
        problems = broken(asyncio.run(_done(work)))
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)


async def _done(work: Awaitable[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return await work


if __name__ == "__main__":
    main()
