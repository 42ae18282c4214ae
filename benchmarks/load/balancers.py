"""Compares HAProxy and nginx as load balancers in front of the same two replicas.

Measures the added latency, the distribution of visitors, failed downloads, and the time until visitors recover after a
replica is killed. Uses deploy/haproxy.cfg and benchmarks/load/nginx.conf; both balancers must be installed.

    python -m benchmarks.load.balancers

Uses only the loopback interface, ports 8660 to 8664.
"""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.load.soak import Record, Visitor, _answers
from benchmarks.load.visitors import links
from tests.browser import ROOT

SITE, PORTS, NUMBERS = 8660, (8661, 8662), (8663, 8664)
VISITORS, SECONDS, EVERY = 30, 20.0, 3.0
BALANCERS = ("none", "haproxy", "nginx")
PATHS = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"


def replica(number: int) -> subprocess.Popen[bytes]:
    """Starts one replica in hosted mode and waits until it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", "app/host.py", "--server.port", str(PORTS[number]),
         "--server.address", "127.0.0.1"], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=os.environ | {"OMP_NUM_THREADS": "1", "ATTENTION_LAB_METRICS": str(NUMBERS[number])})
    while not _answers(f"http://127.0.0.1:{PORTS[number]}/healthz"):
        if process.poll() is not None:
            raise RuntimeError(f"replica {number} did not start")
        time.sleep(0.2)
    return process


@contextmanager
def balancer(which: str) -> Iterator[tuple[str, subprocess.Popen[bytes] | None]]:
    """Runs a balancer while the context is open."""
    if which == "none":
        yield f"http://127.0.0.1:{PORTS[0]}", None
        return
    run = Path(tempfile.mkdtemp())
    values = {"LISTEN": f"127.0.0.1:{SITE}", "CONTROL": str(run / "control"), "REPLICA_A": f"127.0.0.1:{PORTS[0]}",
              "REPLICA_B": f"127.0.0.1:{PORTS[1]}", "RUN": str(run)}
    if which == "haproxy":
        command = [shutil.which("haproxy", path=PATHS) or which, "-db", "-f", str(ROOT / "deploy" / "haproxy.cfg")]
    else:
        text = (ROOT / "benchmarks" / "load" / "nginx.conf").read_text()
        for name, value in values.items():
            text = text.replace(name, value)
        (run / "nginx.conf").write_text(text)
        command = [shutil.which("nginx", path=PATHS) or which, "-c", str(run / "nginx.conf")]
    process = subprocess.Popen(command, env=os.environ | values)
    try:
        while not _answers(f"http://127.0.0.1:{SITE}/healthz"):
            if process.poll() is not None:
                raise RuntimeError(f"{which} did not start")
            time.sleep(0.1)
        yield f"http://127.0.0.1:{SITE}", process
    finally:
        process.terminate()
        process.wait(10)
        shutil.rmtree(run, ignore_errors=True)


def sessions() -> list[float]:
    """Returns the number of sessions of each replica; -1 for a replica that does not respond."""
    counts = []
    for port in NUMBERS:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
                line = next(line for line in answer.read().decode().splitlines()
                            if line.startswith("attention_lab_sessions "))
                counts.append(float(line.split()[1]))
        except OSError:
            counts.append(-1.0)
    return counts


def worked(process: subprocess.Popen[bytes] | None) -> float:
    """Returns the processor time of a balancer, including the worker processes of nginx."""
    if process is None:
        return 0.0
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    ticks = 0
    for number in (str(process.pid), *children):
        fields = Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


async def crowd(site: str, keeps_cookies: bool, seconds: float, dies: Any = None) -> tuple[Record, list[float]]:
    """Simulates VISITORS visitors."""
    states, record = links(300), Record()
    people = [Visitor(site, record) for _ in range(VISITORS)]
    if not keeps_cookies:
        for person in people:
            person.cookies = Forgetful()
    stop = time.perf_counter() + seconds
    visits = [asyncio.create_task(person.visit(states, EVERY, stop, True)) for person in people]
    await asyncio.sleep(seconds / 2)
    shared = await asyncio.to_thread(sessions)
    if dies is not None:
        await asyncio.to_thread(dies)
    await asyncio.gather(*visits)
    return record, shared


class Forgetful(dict[str, str]):
    """A cookie jar that stores nothing, like a browser that shows the app in a frame of another site."""

    def __setitem__(self, key: str, value: str) -> None:
        """Ignores the cookie."""


def row(which: str) -> dict[str, Any]:
    """Runs all measurements of one balancer."""
    running = [replica(number) for number in (0, 1)]
    try:
        with balancer(which) as (site, process):
            asyncio.run(crowd(site, True, 10.0))  # the first run loads the models
            before = worked(process)
            record, shared = asyncio.run(crowd(site, True, SECONDS))
            spent = worked(process) - before
            taken = sorted(record.times)
            result = {"balancer": which, "p50 ms": taken[len(taken) // 2], "p95 ms": taken[int(0.95 * len(taken))],
                      "its CPU ms an action": spent * 1e3 / len(taken), "visits a and b": shared,
                      "downloads": record.downloads, "errors": len(record.errors)}
            if which == "none":
                return result
            record, _ = asyncio.run(crowd(site, False, SECONDS))
            result |= {"without cookies: downloads": record.downloads, "errors then": len(record.errors)}

            def dies() -> None:
                running[0].send_signal(signal.SIGKILL)
                running[0].wait()

            record, _ = asyncio.run(crowd(site, True, SECONDS, dies))
            back = sorted(record.back) or [0.0]
            result |= {"one killed: came back": len(record.back), "s, median": back[len(back) // 2],
                       "s, longest": back[-1], "errors after it": len(record.errors),
                       "slowest answer ms": max(record.times)}
            return result | {"first errors": sorted(set(record.errors))[:2]}
    finally:
        for each in running:
            if each.poll() is None:
                each.terminate()
                each.wait(20)


def main() -> None:
    for which in BALANCERS:
        print(json.dumps({key: round(value, 2) if isinstance(value, float) else value
                          for key, value in row(which).items()}), flush=True)


if __name__ == "__main__":
    main()
