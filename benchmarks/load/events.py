"""Simulates many visitors: each opens a page, then selects and gates heads and types text over the events route.

    python -m benchmarks.load.events --visitors 200 --every 3 --seconds 60     # on one process
    python -m benchmarks.load.events --visitors 400 --balanced                 # on two replicas behind HAProxy
    python -m benchmarks.load.events --visitors 40 --balanced --training       # beside a visitor who trains models

The page is opened over Streamlit's websocket, which stays connected. The events have the format that the browser sends.
The output has the milliseconds from an event to the end of the response, and the server's processor time per event.
"""

import argparse
import asyncio
import contextlib
import random
import time
from collections.abc import Iterator, Sequence
from typing import Any

import httpx2
import websockets

from benchmarks.load.soak import hosted, replicas
from benchmarks.load.visitors import (
    WORDS,
    connected,
    cookie,
    cpu_seconds,
    header,
    open_link,
    queries,
    server_of,
    summary,
)
from components.payload import unpack
from tests.browser import serve

TRAINS = 25.0  # seconds after which a visitor who trains starts the next training
POLL = 0.12  # seconds between two questions about a training, as in components/training/training.js
STORIES = [query for query in queries(2000) if "model=stories" in query]


def events(draw: random.Random, number: int) -> Iterator[dict[str, Any]]:
    """Yields an endless sequence of events: selecting a head, changing a head, and typing text."""
    words = draw.choices(WORDS, k=12)
    while True:
        number += 1
        head = {"kind": "self", "layer": draw.randrange(3), "head": draw.randrange(4), "scope": "head"}
        kind = draw.choice(("select", "heads", "text"))
        if kind == "text":
            words = [*words[1:], draw.choice(WORDS)]
            yield {"key": "lab", "type": "text", "text": " ".join(words), "sequence": number}
        else:
            gate = {"gate": draw.choice((0.0, 0.5, 1.0))} if kind == "heads" else {}
            yield {"key": "lab", "type": kind, **head, **gate, "sequence": number}


def on_new_host(visitors: int, balanced: bool, every: float = 3.0, seconds: float = 60.0,
                training: bool = False) -> dict[str, Any]:
    """Starts the app and returns the row of `measure`."""
    with contextlib.ExitStack() as stack:
        if balanced:
            address, supervisor, _metrics = stack.enter_context(hosted(8690))
            processes = replicas(supervisor)
        else:
            address = stack.enter_context(serve())
            processes = [server_of(address)]
        return asyncio.run(measure(address, processes, visitors, every, seconds, training))


async def measure(address: str, processes: Sequence[int], visitors: int, every: float,
                  seconds: float, training: bool) -> dict[str, Any]:
    """Returns p50, p95 and maximum of the milliseconds of an event, the processor time per event, and the errors."""
    times: list[float] = []
    errors: list[str] = []
    one_by_one, begin = asyncio.Semaphore(2), asyncio.Barrier(visitors + 1)
    limits = httpx2.Limits(max_connections=visitors)
    async with httpx2.AsyncClient(base_url=address, limits=limits, timeout=60) as client:
        running = [asyncio.create_task(_visit(client, address, every, seconds, one_by_one, begin, place, times, errors))
                   for place in range(visitors)]
        await begin.wait()
        before = sum(map(cpu_seconds, processes))
        started = [_train(client, address, seconds)] if training else []
        await asyncio.gather(*running, *started)
        used = sum(map(cpu_seconds, processes)) - before
    taken = sorted(times)
    return {"visitors": visitors, "events per second": len(taken) / seconds, "errors": len(errors),
            "first errors": sorted(set(errors))[:3]} | summary(taken) | {"CPU ms per event": used * 1e3 / len(taken)}


async def _visit(client: httpx2.AsyncClient, address: str, every: float, seconds: float,
                 one_by_one: asyncio.Semaphore, begin: asyncio.Barrier, place: int, times: list[float],
                 errors: list[str]) -> None:
    draw = random.Random(place)
    try:
        async with connected(address, open_timeout=60) as socket:
            async with one_by_one:
                page = header(await open_link(socket, draw.choice(STORIES)), "lab")
            seen, coming = page["serial"], events(draw, page["answered"])
            await begin.wait()
            stop = time.perf_counter() + seconds
            await asyncio.sleep(draw.uniform(0, every))
            while time.perf_counter() < stop:
                began = time.perf_counter()
                answer = await client.post(f"/lab/visits/{page['visit']}/events",
                                           headers=cookie(socket), json={"seen": seen, "events": [next(coming)]})
                times.append((time.perf_counter() - began) * 1e3)
                length = int.from_bytes(answer.content[:4], "little")
                about = unpack(answer.content[4:4 + length])[0] if answer.status_code == 200 else {"layout": True}
                if about["layout"]:
                    errors.append(f"status {answer.status_code}, left to the script: {answer.status_code == 200}")
                else:
                    seen = about["serial"]
                await asyncio.sleep(draw.expovariate(1 / every))
    except (TimeoutError, OSError, websockets.WebSocketException, httpx2.HTTPError) as error:
        errors.append(repr(error)[:120])  # an interrupted visitor is a result of the measurement
        await begin.abort()


async def _train(client: httpx2.AsyncClient, address: str, seconds: float) -> None:
    """Trains one model after the other, and asks for its moments as the page Training does."""
    async with connected(address, open_timeout=60) as socket:
        page = header(await open_link(socket, "page=training"), "training")
        number, stop, begun = page["answered"], time.perf_counter() + seconds, -TRAINS
        trained = 0
        while (now := time.perf_counter()) < stop:
            acts: list[dict[str, Any]] = [{"type": "more"}]
            if now - begun >= TRAINS:
                begun, trained = now, trained + 1
                acts = [{"type": "set", "name": "seed", "value": trained}, {"type": "train"}]
            sent = [act | {"key": "training", "sequence": number + place} for place, act in enumerate(acts, 1)]
            number += len(acts)
            await client.post(f"/lab/visits/{page['visit']}/events", headers=cookie(socket),
                              json={"seen": 0, "events": sent})
            await asyncio.sleep(POLL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visitors", type=int, default=200)
    parser.add_argument("--every", type=float, default=3.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--balanced", action="store_true", help="two replicas behind HAProxy, in hosted mode")
    parser.add_argument("--training", action="store_true", help="beside a visitor who trains one model after the other")
    arguments = parser.parse_args()
    row = on_new_host(arguments.visitors, arguments.balanced, arguments.every, arguments.seconds, arguments.training)
    for name, value in row.items():
        print(f"{name}: {value:.1f}" if isinstance(value, float) else f"{name}: {value}")


if __name__ == "__main__":
    main()
