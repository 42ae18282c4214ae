"""Waiting times of visitors while another visitor opens slow pages.

One visitor compares four models on new texts of 512 tokens without a pause, while other visitors open links to the Lab.
Uses Streamlit's websocket protocol like visitors.py, on the loopback interface only.
"""

import asyncio
import random
import time
from typing import Any
from urllib.parse import urlencode

import websockets
from websockets.typing import Origin, Subprotocol

from benchmarks.load.visitors import WORDS, act, queries

MODELS = "stories-selective stories-log-n stories-scalable-softmax"  # the slow page compares these with stories-softmax
TOKENS = 512
VISITORS = 10


def measure(address: str, seconds: float = 40.0, every: float = 3.0) -> dict[str, Any]:
    """Returns p50, p95 and maximum in ms of the visitors' actions, and p50 of the slow visitor's pages."""
    return asyncio.run(_measure(address, seconds, every))


def slow_page(draw: random.Random) -> str:
    """Returns a link to four models in the Lab and a text that is not cached."""
    text = " ".join(draw.choices(WORDS, k=TOKENS))
    return urlencode({"lab": "all.second", "model": "stories-softmax", "with": MODELS, "text": text})


async def _measure(address: str, seconds: float, every: float) -> dict[str, Any]:
    links, draw = queries(500), random.Random(1)
    waits: list[float] = []
    slow: list[float] = []
    errors: list[str] = []
    stop = time.perf_counter() + seconds

    async def visit(times: list[float], link: Any, pause: float) -> None:
        url = address.replace("http", "ws", 1) + "/_stcore/stream"
        async with websockets.connect(url, subprotocols=[Subprotocol("streamlit")], max_size=None,
                                      origin=Origin(address)) as socket:
            await act(socket, "")
            await asyncio.sleep(random.uniform(0, pause))
            while time.perf_counter() < stop:
                taken, failed = await act(socket, link())
                times.append(taken)
                errors.extend(failed)
                if pause:
                    await asyncio.sleep(random.expovariate(1 / pause))

    await asyncio.gather(visit(slow, lambda: slow_page(draw), 0.0),
                         *(visit(waits, lambda: random.choice(links), every) for _ in range(VISITORS)))
    waits.sort()
    slow.sort()
    return {"visitors": VISITORS, "actions": len(waits), "errors": len(errors), "p50 ms": waits[len(waits) // 2],
            "p95 ms": waits[int(len(waits) * 0.95)], "max ms": waits[-1], "slow pages": len(slow),
            "slow page p50 ms": slow[len(slow) // 2]}
