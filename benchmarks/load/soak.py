"""Soak test: the visitors of a lecture hall for twenty minutes, on two replicas behind HAProxy.

    python -m benchmarks.load.soak                      # 200 visitors, 20 minutes, all pages
    python -m benchmarks.load.soak --kill-every 180     # the same, and a replica is killed every 3 minutes

Every visitor opens links on all pages and sometimes downloads a file. The state in each response is compared with the
requested address. After a replica was killed, each visitor reconnects like a browser, and the new session's state must
match the visitor's address. Prints one line of JSON; the exit status is 1 after any error. The test starts and stops
`make hosted`, on the loopback interface only.
"""

import argparse
import asyncio
import json
import math
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import websockets
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from benchmarks.load.visitors import PATIENCE, connected, exceptions, header, links, open_link
from tests.browser import ROOT, wait

SETTLED = 300.0  # seconds after which memory may grow by at most GROWTH
GROWTH = 1.05
DOWNLOADS = 0.1  # fraction of the answers after which a visitor downloads a file
RECOVERY = 60.0  # seconds within which a visitor must recover


@dataclass
class Record:
    """The results of all visitors."""

    times: list[float] = field(default_factory=list)  # milliseconds from an action to the end of its run
    # seconds from a lost connection to the response with the visitor's own state
    back: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)  # descriptions of errors; empty after a successful run
    downloads: int = 0  # number of downloaded files
    checked: int = 0  # number of checked responses
    # (seconds since the start, bytes of each replica)
    memory: list[tuple[float, list[float]]] = field(default_factory=list)


class Visitor:
    """One simulated browser with cookies, a websocket and an address."""

    def __init__(self, site: str, record: Record) -> None:
        self.site, self.record = site, record
        # a new connection for each request, because a balancer may close an idle one at any time
        self.http = httpx2.AsyncClient(base_url=site, timeout=PATIENCE, follow_redirects=True,
                                       limits=httpx2.Limits(max_keepalive_connections=0))
        # the address of the last request, and the expected address in the browser's address bar
        self.address: tuple[str, str] = ("", "")

    def connected(self) -> websockets.connect:
        """Opens a websocket as the browser does."""
        cookies = "; ".join(f"{name}={value}" for name, value in self.http.cookies.items())
        return connected(self.site, additional_headers={"Cookie": cookies}, open_timeout=5, ping_interval=None)

    def check(self, page: Sequence[ForwardMsg], when: str) -> str:
        """Records the errors of a response, and returns the id of the visit."""
        bar = header(page, "bar")
        self.record.checked += 1
        self.record.errors += [f"{when}: {message}" for message in exceptions(page)]
        if bar.get("query") != self.address[1]:
            self.record.errors.append(f"{when}: the state is {bar.get('query')!r}, the address {self.address[1]!r}")
        return bar.get("visit", "")

    async def visit(self, states: dict[str, str], every: float, stop: float, may_be_lost: bool) -> None:
        """Opens random links until the time `stop`, and reconnects after lost connections."""
        await asyncio.sleep(random.uniform(0, every))
        await self.http.get("/")
        lost: float | None = None
        while time.perf_counter() < stop:
            try:
                async with self.connected() as socket:
                    if lost is not None:  # a browser sends its address to a new session
                        self.check(await open_link(socket, self.address[0]), "after coming back")
                        self.record.back.append(time.perf_counter() - lost)
                        lost = None
                    await self._act(socket, states, every, stop)
            except (OSError, TimeoutError, httpx2.TransportError, websockets.WebSocketException) as error:
                lost = lost or time.perf_counter()
                if not may_be_lost or time.perf_counter() - lost > RECOVERY:
                    self.record.errors.append(f"cut off: {error!r}"[:160])
                    return
                await self._healthy(lost)

    async def _healthy(self, lost: float) -> None:
        """Polls the server's health like Streamlit's browser code: after 0.5 s to 1 s, then at doubled intervals."""
        pause = 0.5
        while time.perf_counter() - lost < RECOVERY:
            await asyncio.sleep(random.uniform(pause, 2 * pause))
            with suppress(httpx2.TransportError):
                if (await self.http.get("/_stcore/health")).status_code == 200:
                    return
            pause = min(2 * pause, 30.0)

    async def _act(self, socket: Any, states: dict[str, str], every: float, stop: float) -> None:
        keys = list(states)
        while time.perf_counter() < stop:
            key = random.choice(keys)
            self.address = key, states[key]
            began = time.perf_counter()
            page = await open_link(socket, key)
            self.record.times.append((time.perf_counter() - began) * 1e3)
            visit = self.check(page, "answer")
            if visit and random.random() < DOWNLOADS:
                download = await self.http.get(f"/lab/visits/{visit}/files/all.csv")
                self.record.downloads += 1
                if download.status_code != 200 or not download.content:
                    self.record.errors.append(f"download: {download.status_code}")
            await asyncio.sleep(random.expovariate(1 / every))


@contextmanager
def hosted(port: int) -> Iterator[tuple[str, subprocess.Popen[bytes], list[str]]]:
    """Runs `make hosted` on this port and the next four ports while the context is open."""
    log = ROOT / "runs" / f"hosted-{port}.log"
    log.parent.mkdir(exist_ok=True)
    with open(log, "wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "deploy", "--address", "127.0.0.1", "--port", str(port), "--replicas-from",
             str(port + 1), "--metrics-from", str(port + 3)], cwd=ROOT, stdout=output, stderr=subprocess.STDOUT,
            env=os.environ | {"ATTENTION_LAB_CONTROL": str(ROOT / "runs" / f"balancer-{port}.sock")})
    site = f"http://127.0.0.1:{port}"
    try:
        wait(process, f"{site}/healthz", log, 120)
        yield site, process, [f"http://127.0.0.1:{port + 3 + number}/metrics" for number in (0, 1)]
    finally:
        process.terminate()
        process.wait(30)


def replicas(process: subprocess.Popen[bytes]) -> list[int]:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [int(child) for child in children if b"app/host.py" in Path(f"/proc/{child}/cmdline").read_bytes()]


async def watched(metrics: list[str], record: Record, began: float, stop: float, every: float = 10.0) -> None:
    """Records the memory of each replica at intervals."""
    async with httpx2.AsyncClient() as http:
        while time.perf_counter() < stop:
            samples = []
            for url in metrics:
                match = None
                with suppress(httpx2.TransportError):
                    match = re.search(r'memory_bytes\{what="process"\} (\S+)', (await http.get(url)).text)
                samples.append(float(match[1]) if match else 0.0)
            record.memory.append((time.perf_counter() - began, samples))
            await asyncio.sleep(every)


async def killed(process: subprocess.Popen[bytes], every: float, stop: float) -> int:
    """Kills one replica after the other; the last kill is early enough for all visitors to recover."""
    count = 0
    while time.perf_counter() + every + RECOVERY / 2 < stop:
        await asyncio.sleep(every)
        processes = sorted(replicas(process))
        if len(processes) == 2:
            os.kill(processes[0], signal.SIGKILL)  # the older process
            count += 1
    return count


async def soak(port: int, visitors: int, minutes: float, every: float, kill_every: float) -> dict[str, Any]:
    """Runs the soak test."""
    states, record = links(2000), Record()
    with hosted(port) as (site, process, metrics):
        people = [Visitor(site, record) for _ in range(visitors)]
        began = time.perf_counter()
        stop = began + 60 * minutes
        kills = asyncio.create_task(killed(process, kill_every, stop)) if kill_every else None
        watching = asyncio.create_task(watched(metrics, record, began, stop))
        await asyncio.gather(*(person.visit(states, every, stop, bool(kill_every)) for person in people))
        await watching
        deaths = await kills if kills else 0
    return summary(record, minutes, deaths) | {"visitors": visitors, "minutes": minutes}


def summary(record: Record, minutes: float, deaths: int) -> dict[str, Any]:
    """Returns name -> value; `growth` is the last minute's peak memory over that of the first minute after SETTLED."""
    taken, back = sorted(record.times), sorted(record.back)
    after = [sum(sample) for when, sample in record.memory if when > min(SETTLED, 30 * minutes) and all(sample)]
    result: dict[str, Any] = {
        "actions": len(taken), "p50 ms": round(taken[len(taken) // 2]), "p95 ms": round(taken[int(len(taken) * 0.95)]),
        "states checked": record.checked, "downloads": record.downloads, "replicas killed": deaths,
        "came back": len(back), "errors": len(record.errors), "first errors": sorted(set(record.errors))[:5]}
    if back:
        result["back s, median and longest"] = round(back[len(back) // 2], 1), round(back[-1], 1)
    if len(after) > 1:
        result |= {"MB of both": round(after[-1] / 1e6), "growth": round(max(after[-6:]) / max(after[:6]), 3)}
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--visitors", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--every", type=float, default=6.0, help="seconds between a visitor's actions, on average")
    parser.add_argument("--kill-every", type=float, default=0.0, help="seconds; 0: nobody dies")
    parser.add_argument("--port", type=int, default=8650, help="this one and the four after it are used")
    arguments = parser.parse_args()
    result = asyncio.run(soak(arguments.port, arguments.visitors, arguments.minutes, arguments.every,
                              arguments.kill_every))
    print(json.dumps(result))
    # Without memory values, growth counts as exceeded: a run that measures nothing must not pass.
    settled = not arguments.kill_every and arguments.minutes * 60 > 2 * SETTLED
    grown = settled and result.get("growth", math.inf) > GROWTH
    sys.exit(1 if result["errors"] or grown or not result["downloads"] else 0)


if __name__ == "__main__":
    main()
