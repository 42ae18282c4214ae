"""Simulates many visitors on one process: each visitor opens a session and, every few seconds, a new link.

Uses Streamlit's websocket protocol, on the loopback interface only. A link is the most expensive action: it needs a
whole run of the script, and a forward pass unless the result is cached.
"""

import asyncio
import random
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlparse

import websockets

from app.state.lab_state import FIRST_PAGE, PAGES
from app.state.link import query_of, read_query
from benchmarks.load.client import connected, exceptions, open_link
from models import catalogue

WORDS = ["once", "upon", "time", "there", "was", "little", "dragon", "girl", "king", "who", "said", "to", "the", "old",
         "dog", "in", "forest", "and", "ran", "away", "home"]

OPENED = ("", "", "", *(page for page in PAGES if page != FIRST_PAGE))  # the Lab is three times as frequent
WARMUP = 6.0  # seconds at the beginning that are not measured
COMPARED = "stories-selective stories-log-n stories-scalable-softmax"  # a slow page compares these with stories-softmax
SLOW_TOKENS, NEIGHBOURS = 512, 10


def queries(count: int, seed: int = 0) -> list[str]:
    """Returns links to different states: models, texts of 12 to 40 words or 6 to 20 events, and some modified heads."""
    draw = random.Random(seed)
    links = []
    for _ in range(count):
        kind = draw.choice(("softmax", "selective"))
        if draw.random() < 0.5:
            name, text = f"stories-{kind}", " ".join(draw.choices(WORDS, k=draw.randint(12, 40)))
            layer, head = draw.randrange(4), draw.randrange(8)
        else:
            letters = draw.sample("abcdefghijklmnopqrstuvwxyz", 5)
            events = [f"{draw.choice(letters)}={draw.randrange(10)}" for _ in range(draw.randint(6, 20))]
            name, text = f"assignment-{kind}", "; ".join([*events, f"{events[0][0]}=?"])
            layer, head = draw.randrange(3), draw.randrange(4)
        state = draw.choice(("c", "g0", "g0.5", "cg0.3"))
        links.append(urlencode({"model": name, "text": text, "plan": f"self-{layer}.{head}{state}",
                                "at": f"{layer}.{head}"}))
    return links


def links(count: int, seed: int = 0) -> dict[str, str]:
    """Returns links to all pages."""
    draw = random.Random(seed)
    expected = {}
    for query in queries(count, seed):
        params = dict(parse_qsl(query))
        if page := draw.choice(OPENED):
            params["page"] = page
        elif draw.random() < 0.25:  # four models in the Lab
            params["lab"] = "all.second"
            family = catalogue.find(params["model"]).task.name
            others = [f"{family}-{kind}" for kind in ("softmax", "selective", "log-n", "random")]
            params["with"] = " ".join(name for name in draw.sample(others, 2) if name != params["model"])
        expected[urlencode(params)] = query_of(read_query(params)[0])
    return expected


def measure(address: str, visitors: int, every: float, seconds: float, states: int = 2000) -> dict[str, Any]:
    """Returns p50, p95 and maximum of the milliseconds from an action to the end of its run, and the errors."""
    links = queries(states)
    waits, errors = acted(address, seconds, {"all": (visitors, every, lambda: random.choice(links))})
    return {"visitors": visitors, "different links": len(links),
            "actions per second": len(waits["all"]) / (seconds - WARMUP), "errors": len(errors),
            "first errors": sorted(set(errors))[:3]} | summary(waits["all"])


def beside_slow_pages(address: str, seconds: float = 40.0) -> dict[str, Any]:
    """Returns the waiting times of NEIGHBOURS visitors while one visitor opens slow pages without a pause.

    A slow page compares four models on a new text of SLOW_TOKENS tokens.
    """
    links, draw = queries(500), random.Random(1)
    waits, errors = acted(address, seconds, {"slow": (1, 0.0, lambda: slow_page(draw)),
                                             "others": (NEIGHBOURS, 3.0, lambda: random.choice(links))})
    slow = waits["slow"]
    return {"visitors": NEIGHBOURS, "actions": len(waits["others"]), "errors": len(errors)} | summary(
        waits["others"]) | {"slow pages": len(slow), "slow page p50 ms": slow[len(slow) // 2]}


def slow_page(draw: random.Random) -> str:
    """Returns a link to four models in the Lab and a text that is not cached."""
    return urlencode({"lab": "all.second", "model": "stories-softmax", "with": COMPARED,
                      "text": " ".join(draw.choices(WORDS, k=SLOW_TOKENS))})


def summary(times: list[float]) -> dict[str, float]:
    return {"p50 ms": times[len(times) // 2], "p95 ms": times[int(len(times) * 0.95)], "max ms": times[-1]}


# name -> (number of visitors, mean seconds between two actions of a visitor, a function that returns a link)
Groups = dict[str, tuple[int, float, Callable[[], str]]]


def acted(address: str, seconds: float, groups: Groups) -> tuple[dict[str, list[float]], list[str]]:
    """Lets groups of visitors act; returns the sorted milliseconds of the actions of each group, and the errors."""
    if urlparse(address).hostname not in ("localhost", "127.0.0.1"):
        raise ValueError(f"expected an address of this machine, got {address}")
    times: dict[str, list[float]] = {name: [] for name in groups}
    errors: list[str] = []

    async def all_visits() -> None:
        began = time.perf_counter()
        await asyncio.gather(*(_visit(address, every, began, began + seconds, link, times[name], errors)
                               for name, (visitors, every, link) in groups.items() for _ in range(visitors)))

    asyncio.run(all_visits())
    return {name: sorted(taken) for name, taken in times.items()}, errors


async def _visit(address: str, every: float, began: float, stop: float, link: Callable[[], str], times: list[float],
                 errors: list[str]) -> None:
    await asyncio.sleep(random.uniform(0, every))
    try:
        async with connected(address) as socket:
            while time.perf_counter() < stop:
                taken, failed = await act(socket, link())
                if time.perf_counter() > began + WARMUP:
                    times.append(taken)
                errors.extend(failed)
                if every:
                    await asyncio.sleep(random.expovariate(1 / every))
    except (TimeoutError, OSError, websockets.WebSocketException) as error:
        errors.append(repr(error)[:120])  # an interrupted visitor is a result of the measurement


async def act(socket: Any, query: str) -> tuple[float, list[str]]:
    """Opens a link; returns the milliseconds of the run, and the exceptions on the page."""
    began = time.perf_counter()
    messages = await open_link(socket, query)
    return (time.perf_counter() - began) * 1e3, exceptions(messages)
