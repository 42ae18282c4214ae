"""Simulates many visitors on one process: each visitor opens a session and, every few seconds, a new link.

Uses Streamlit's websocket protocol, on the loopback interface only. A link is the most expensive action: it needs a
whole run of the script, and a forward pass unless the result is cached.
"""

import asyncio
import random
import time
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlparse

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.typing import Origin, Subprotocol

from app.state.lab_state import FIRST_PAGE, PAGES
from app.state.link import query_of, read_query
from models import catalogue

WORDS = ["once", "upon", "time", "there", "was", "little", "dragon", "girl", "king", "who", "said", "to", "the", "old",
         "dog", "in", "forest", "and", "ran", "away", "home"]

OPENED = ("", "", "", *(page for page in PAGES if page != FIRST_PAGE))  # the Lab is three times as frequent
WARMUP = 6.0  # seconds at the beginning that are not measured
# Statuses of a complete run. A run that was interrupted by the next run has no complete response.
FINISHED = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)


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
    if urlparse(address).hostname not in ("localhost", "127.0.0.1"):
        raise ValueError(f"expected an address of this machine, got {address}")
    return asyncio.run(_measure(address, visitors, every, seconds, queries(states)))


async def _measure(address: str, visitors: int, every: float, seconds: float, states: list[str]) -> dict[str, Any]:
    times: list[float] = []
    errors: list[str] = []
    began = time.perf_counter()
    stop = began + seconds
    await asyncio.gather(*(_visit(address, every, began, stop, states, times, errors) for _ in range(visitors)))
    taken = sorted(times)
    return {"visitors": visitors, "different links": len(states),
            "actions per second": len(taken) / (seconds - WARMUP), "errors": len(errors),
            "first errors": sorted(set(errors))[:3], "p50 ms": taken[len(taken) // 2],
            "p95 ms": taken[int(len(taken) * 0.95)], "max ms": taken[-1]}


async def _visit(address: str, every: float, began: float, stop: float, states: list[str], times: list[float],
                 errors: list[str]) -> None:
    await asyncio.sleep(random.uniform(0, every))
    url = address.replace("http", "ws", 1) + "/_stcore/stream"
    try:
        async with websockets.connect(url, subprotocols=[Subprotocol("streamlit")], max_size=None,
                                      origin=Origin(address)) as socket:
            while time.perf_counter() < stop:
                taken, failed = await act(socket, random.choice(states))
                if time.perf_counter() > began + WARMUP:
                    times.append(taken)
                errors.extend(failed)
                await asyncio.sleep(random.expovariate(1 / every))
    except (TimeoutError, OSError, websockets.WebSocketException) as error:
        errors.append(repr(error)[:120])  # an interrupted visitor is a result of the measurement


async def act(socket: Any, query: str) -> tuple[float, list[str]]:
    """Opens a link; returns the milliseconds of the run, and the exceptions on the page."""
    message = BackMsg()
    message.rerun_script.query_string = query
    message.rerun_script.is_history_navigation = True
    began = time.perf_counter()
    await socket.send(message.SerializeToString())
    failed = []
    while True:
        answer = ForwardMsg()
        answer.ParseFromString(await asyncio.wait_for(socket.recv(), 60))
        kind = answer.WhichOneof("type")
        if kind == "delta" and answer.delta.new_element.HasField("exception"):
            failed.append(answer.delta.new_element.exception.message[:120])
        if kind == "script_finished" and answer.script_finished in FINISHED:
            return (time.perf_counter() - began) * 1e3, failed
