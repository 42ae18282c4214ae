"""Attacks on a hosted replica, while another visitor (the neighbour) keeps working; prints one line per attack.

    python -m tests.strangers                  # all attacks, about two minutes
    python -m tests.strangers --only events    # one of them
    python -m tests.strangers --balanced       # two replicas behind HAProxy instead of one process
    python -m tests.strangers --root FOLDER    # the app of another checkout, to compare

Starts `app/host.py` on the loopback and sends only there. Every attack is bounded in count and time. A line has the
neighbour's p50 and p95 before and during the attack (milliseconds for a new text), the largest memory, and how much
memory, descriptors and threads the process kept afterwards. The exit status is 1 if a bound in BOUNDS is broken.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import sys
import time
import urllib.parse
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg

from benchmarks.load.soak import hosted, replicas
from benchmarks.load.visitors import WORDS, act, connected, open_link
from tests.browser import ROOT, serve_hosted

SECONDS = 8.0  # duration of an attack in seconds; the response times of the neighbour are measured meanwhile
EVERY = 0.3  # seconds between two texts that the neighbour types
BOUNDS = {"p95 ms": 300.0, "peak MB": 1000.0, "kept MB": 100.0}
# attacks on the events route, from a process of their own (tests/route_attacks.py)
ROUTE = ("long work", "nothing new", "compare", "held back", "empty objects", "many links", "many files")

Attack = Callable[[str], Awaitable[None]]


def visit(address: str) -> websockets.connect:
    """Returns a context manager that opens a websocket to the app."""
    return connected(address, open_timeout=20, close_timeout=1, ping_interval=None)


async def drain(socket: Any) -> None:
    """Reads and drops what the server sends."""
    with contextlib.suppress(websockets.WebSocketException):
        async for _ in socket:
            pass


def repeated(message: BackMsg, fields: int = 1, times: int = 10) -> Attack:
    """Returns an attack that sends a message, `fields` times its own length, over one websocket, and reads."""
    data = message.SerializeToString() * fields

    async def attack(address: str) -> None:
        with contextlib.suppress(websockets.WebSocketException, OSError):
            async with visit(address) as opened:
                await act(opened, "")
                reader = asyncio.create_task(drain(opened))
                for _ in range(times):
                    await opened.send(data)
                await asyncio.sleep(SECONDS / 2)
                reader.cancel()
    return attack


async def events(address: str) -> None:
    """Sends component events of 700 kB: a list of empty objects, under the id of a component on the page."""
    async with visit(address) as opened:
        components = [message.delta.new_element.bidi_component for message in await open_link(opened, "")]
        ids = [component.id for component in components if component.id]
        message = BackMsg()
        for its in ids[:1]:
            state = message.rerun_script.widget_states.widgets.add(id=its)
            state.json_value = json.dumps({"event": [{}] * 170_000})
        with contextlib.suppress(websockets.WebSocketException, TimeoutError):
            for _ in range(8):
                await opened.send(message.SerializeToString())
                await asyncio.sleep(SECONDS / 10)


async def fragments(address: str) -> None:
    """Opens three websockets and sends incomplete messages of up to 60 MB."""
    async def one() -> None:
        with contextlib.suppress(websockets.WebSocketException, OSError):
            async with visit(address) as opened:
                async def parts() -> AsyncIterator[bytes]:
                    for _ in range(60):
                        yield b"x" * 2**20
                        await asyncio.sleep(0.02)
                    await asyncio.sleep(SECONDS / 2)
                await asyncio.wait_for(opened.send(parts()), SECONDS)

    await asyncio.gather(*(one() for _ in range(3)), return_exceptions=True)


async def text_of_megabytes(address: str) -> None:
    """Opens a link with a text of 600 kB again and again."""
    with contextlib.suppress(websockets.WebSocketException, OSError, TimeoutError):
        async with visit(address) as opened:
            until = time.monotonic() + SECONDS
            while time.monotonic() < until:
                await act(opened, urllib.parse.urlencode({"text": "word " * 120_000}))


async def idle_sockets(address: str) -> None:
    """Opens 300 websockets that send nothing."""
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(300):
            with contextlib.suppress(websockets.WebSocketException, OSError, TimeoutError):
                await stack.enter_async_context(visit(address))
        await asyncio.sleep(SECONDS / 2)


async def half_requests(address: str) -> None:
    """Opens 300 connections and sends half of a request on each."""
    host, port = urllib.parse.urlsplit(address).hostname, urllib.parse.urlsplit(address).port
    writers = []
    for _ in range(300):
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection(host, port)
            writer.write(b"GET / HTTP/1.1\r\nHost: " + str(host).encode())
            writers.append(writer)
    await asyncio.sleep(SECONDS)
    for writer in writers:
        writer.close()


def compared(text: str) -> str:
    """Returns the query of a link that compares four translation models on a text."""
    models = "translation-random translation-dense translation-factorized-random"
    return urllib.parse.urlencode({"lab": "all.second", "model": "translation-softmax", "with": models, "text": text})


async def translations(address: str) -> None:
    """Lets eight visitors compare four translation models on a new text of 200 words, again and again."""
    async def one(number: int) -> None:
        draw = random.Random(number)
        until = time.monotonic() + SECONDS
        with contextlib.suppress(websockets.WebSocketException, OSError, TimeoutError):
            async with visit(address) as opened:
                while time.monotonic() < until:
                    await act(opened, compared(" ".join(draw.choices(WORDS, k=200))))

    await asyncio.wait([asyncio.create_task(one(number)) for number in range(8)], timeout=SECONDS)


ATTACKS: dict[str, Attack] = {
    "events": events,
    "file urls": repeated(BackMsg(file_urls_request={"file_names": ["a"] * 60_000})),
    "git info": repeated(BackMsg(load_git_info=True), times=400),  # a request that is meant for developers
    "clear cache": repeated(BackMsg(clear_cache=True), times=100),  # of the cache that all visitors share
    "many fields": repeated(BackMsg(load_git_info=True), fields=300_000), "fragments": fragments,
    "text": text_of_megabytes, "idle sockets": idle_sockets, "half requests": half_requests,
    "translations": translations}


async def load_models(address: str) -> None:
    """Loads the models of `translations`, which stay in memory after any visit, so that they are not counted."""
    async with visit(address) as opened:
        await act(opened, compared("We need it."))


async def neighbour(address: str, stop: asyncio.Event) -> list[float]:
    """Types new texts until `stop` is set. Returns the response time in ms for each text."""
    times: list[float] = []
    draw = random.Random(time.monotonic())
    async with visit(address) as opened:
        await act(opened, "")
        while not stop.is_set():
            text = " ".join(draw.choices(WORDS, k=15))
            taken, _ = await act(opened, urllib.parse.urlencode({"model": "stories-softmax", "text": text}))
            times.append(taken)
            await asyncio.sleep(EVERY)
    return sorted(times)


@contextlib.asynccontextmanager
async def prepared(name: str, address: str) -> AsyncIterator[Attack]:
    """Yields an attack; the visits of an attack on the events route are open."""
    if name in ATTACKS:
        yield ATTACKS[name]
        return
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.route_attacks", name, address, str(SECONDS), cwd=ROOT,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    assert process.stdin and process.stdout
    try:
        if await asyncio.wait_for(process.stdout.readline(), 120) != b"ready\n":
            raise RuntimeError("the attack did not begin")

        async def attack(_address: str) -> None:
            process.stdin.write(b"\n")
            if await process.wait():
                raise RuntimeError("the attack failed")
        yield attack
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def peak_of(processes: list[int], stop: asyncio.Event) -> float:
    """Returns the largest memory of a process in MB until `stop` is set."""
    peak = 0.0
    while not stop.is_set():
        peak = max(peak, *(usage(process)["MB"] for process in processes))
        await asyncio.sleep(0.1)
    return peak


async def under(name: str, address: str, processes: list[int]) -> tuple[list[float], float]:
    """Returns the neighbour's times in ms during an attack, and the largest memory of a process in MB."""
    stop = asyncio.Event()
    async with prepared(name, address) as attack:
        peak = asyncio.create_task(peak_of(processes, stop))
        times = await beside(address, attack)
        stop.set()
        return times, await peak


async def beside(address: str, attack: Attack | None) -> list[float]:
    """Returns the neighbour's times in ms during an attack, or during SECONDS / 2 without an attack."""
    stop = asyncio.Event()
    working = asyncio.create_task(neighbour(address, stop))
    await asyncio.sleep(1)
    if attack is None:
        await asyncio.sleep(SECONDS / 2)
    else:
        # an attack may end with any error; only the neighbour's times are measured
        with contextlib.suppress(OSError, TimeoutError, websockets.WebSocketException):
            await asyncio.wait_for(attack(address), 3 * SECONDS)
    stop.set()
    return await working


def usage(*processes: int) -> dict[str, float]:
    """Returns the total memory (MB), open file descriptors and threads of the processes."""
    total = {"MB": 0.0, "threads": 0.0, "descriptors": 0.0}
    for process in processes:
        status = Path(f"/proc/{process}/status").read_text()
        fields = dict(line.split(":", 1) for line in status.splitlines())
        total["MB"] += int(fields["VmRSS"].split()[0]) / 1024
        total["threads"] += int(fields["Threads"])
        total["descriptors"] += len(os.listdir(f"/proc/{process}/fd"))
    return total


@contextlib.contextmanager
def site(root: Path, balanced: bool) -> Iterator[tuple[str, list[int]]]:
    """Yields the address and the process ids of a new host: one process, or two replicas behind HAProxy."""
    if balanced:
        with hosted(8680) as (address, supervisor, _metrics):
            yield address, replicas(supervisor)
        return
    with serve_hosted(root) as server:
        assert server.process is not None
        yield server.address, [server.process.pid]


def measure(name: str, root: Path = ROOT, balanced: bool = False) -> dict[str, Any]:
    """Runs an attack on a new host: the neighbour's times before and during it, and what was not freed."""
    with site(root, balanced) as (address, processes):
        asyncio.run(load_models(address))
        asyncio.run(beside(address, None))  # a first run fills the caches
        before = asyncio.run(beside(address, None))
        kept = usage(*processes)
        during, peak = asyncio.run(under(name, address, processes))
        time.sleep(5)
        after = usage(*processes)
        return {"attack": name, "before p50 ms": before[len(before) // 2],
                "before p95 ms": before[int(len(before) * 0.95)],
                "p50 ms": during[len(during) // 2], "p95 ms": during[int(len(during) * 0.95)], "max ms": during[-1],
                "peak MB": peak, "kept MB": after["MB"] - kept["MB"], "threads": after["threads"] - kept["threads"],
                "descriptors": after["descriptors"] - kept["descriptors"], "load": os.getloadavg()[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=[*ATTACKS, *ROUTE])
    parser.add_argument("--balanced", action="store_true", help="two replicas behind HAProxy, of this checkout")
    parser.add_argument("--root", type=Path, default=ROOT)
    asked = parser.parse_args()
    broken = False
    for name in [asked.only] if asked.only else [*ROUTE, *ATTACKS]:
        try:
            line = measure(name, asked.root.resolve(), asked.balanced)
        except (RuntimeError, OSError, websockets.WebSocketException, TimeoutError) as error:
            line = {"attack": name, "the neighbour was cut off": repr(error)[:100]}
        broken = broken or any(line.get(what, most + 1) > most for what, most in BOUNDS.items())
        print(json.dumps({key: round(value, 1) if isinstance(value, float) else value for key, value in line.items()}),
              flush=True)
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
