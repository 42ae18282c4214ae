"""Processor time of the server per link (milliseconds over all threads), with and without the forward passes.

    python -m benchmarks.load.link                        # this tree
    python -m benchmarks.load.link --beside ../other      # this tree and another tree, alternately

One visitor opens links one after the other, so no request waits for another request. Then the visitor opens the same
links again; their passes are cached. The difference is the time of the forward passes.
"""

import argparse
import asyncio
import os
import subprocess
from pathlib import Path
from statistics import median
from typing import Any

import websockets
from websockets.typing import Origin, Subprotocol

from benchmarks.load.visitors import act, queries
from tests.browser import ROOT, serve

LINKS = 150  # number of different links per round, a multiple of PART
PART = 15  # number of links that are opened and then opened again; small enough that all traces stay in the cache
ROUNDS = 4
TICKS = os.sysconf("SC_CLK_TCK")  # ticks of the processor's clock per second


def measure(roots: list[Path], rounds: int) -> list[dict[str, Any]]:
    """Returns one row per working tree: medians over rounds, in which the trees alternate."""
    times: dict[Path, list[tuple[float, float]]] = {root: [] for root in roots}
    for number in range(rounds):
        for root in roots:
            with serve(root=root) as address:
                times[root].append(asyncio.run(_round(address, number)))
    return [{"tree": root.name, "links": LINKS * rounds, "CPU ms a link": median(first for first, _ in both),
             "the same, remembered": median(again for _, again in both),
             "the models": median(first - again for first, again in both)} for root, both in times.items()]


async def _round(address: str, number: int) -> tuple[float, float]:
    """Returns the CPU milliseconds of a new link and of a repeated link."""
    url = address.replace("http", "ws", 1) + "/_stcore/stream"
    process = server_of(address)
    async with websockets.connect(url, subprotocols=[Subprotocol("streamlit")], max_size=None,
                                  origin=Origin(address)) as socket:
        for query in queries(20, seed=1000):  # a first run loads the models
            await act(socket, query)
        taken = [0.0, 0.0]
        for first in range(0, LINKS, PART):
            links = queries(LINKS, seed=number)[first:first + PART]
            for again in (0, 1):
                before = cpu_seconds(process)
                for query in links:
                    failed = (await act(socket, query))[1]
                    if failed:
                        raise RuntimeError(failed[0])
                taken[again] += cpu_seconds(process) - before
    return taken[0] * 1e3 / LINKS, taken[1] * 1e3 / LINKS


def server_of(address: str) -> int:
    """Returns the id of the process that serves an address of `tests.browser.serve`."""
    port = address.rsplit(":", 1)[1]
    process = subprocess.run(["pgrep", "-f", f"server.port {port}"], capture_output=True, text=True, check=True)
    return int(process.stdout.split()[0])


def cpu_seconds(process: int) -> float:
    """Returns the CPU seconds of a process over all threads."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident(process: int, what: str = "VmRSS") -> int:
    """Returns a value of /proc/PID/status in bytes."""
    return int(Path(f"/proc/{process}/status").read_text().split(f"{what}:")[1].split()[0]) * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", type=Path, metavar="FOLDER", help="another working tree of this repository")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args()
    for row in measure([ROOT, *([arguments.beside.resolve()] if arguments.beside else [])], arguments.rounds):
        print(" | ".join(f"{key} {value:.1f}" if isinstance(value, float) else f"{key} {value}"
                         for key, value in row.items()), flush=True)


if __name__ == "__main__":
    main()
