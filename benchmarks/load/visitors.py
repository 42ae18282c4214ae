"""Simulated visitors: a session over Streamlit's websocket, as a browser opens it, its links, and the server's process.

A link is the most expensive action: it needs a whole run of the script, and a forward pass unless the result is cached.
"""

import asyncio
import os
import random
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.typing import Origin, Subprotocol

from app.state.lab_state import FIRST_PAGE, PAGES
from app.state.link import query_of, read_query
from components.payload import unpack
from models import catalogue

# Statuses of a complete run. A run that was interrupted by the next run has no complete response.
FINISHED = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)
PATIENCE = 60.0  # seconds within which the next message of a response must arrive
WORDS = ["once", "upon", "time", "there", "was", "little", "dragon", "girl", "king", "who", "said", "to", "the", "old",
         "dog", "in", "forest", "and", "ran", "away", "home"]
OPENED = ("", "", "", *(page for page in PAGES if page != FIRST_PAGE))  # the Lab is three times as frequent
TICKS = os.sysconf("SC_CLK_TCK")  # ticks of the processor's clock per second


def connected(address: str, **settings: Any) -> websockets.connect:
    """Returns a context manager that opens a websocket; `settings` are those of websockets.connect."""
    return websockets.connect(address.replace("http", "ws", 1) + "/_stcore/stream", max_size=None,
                              subprotocols=[Subprotocol("streamlit")], origin=Origin(address), **settings)


def cookie(socket: Any) -> dict[str, str]:
    """Returns the header with the cookie by which a balancer finds the replica of a session."""
    return {"Cookie": socket.response.headers.get("Set-Cookie", "").split(";")[0]}


async def open_link(socket: Any, query: str, patience: float = PATIENCE) -> list[ForwardMsg]:
    """Opens a link in a session, and returns the messages of the run, which is complete."""
    message = BackMsg()
    message.rerun_script.query_string = query
    message.rerun_script.is_history_navigation = True
    await socket.send(message.SerializeToString())
    messages: list[ForwardMsg] = []
    while not messages or not messages[-1].HasField("script_finished") or messages[-1].script_finished not in FINISHED:
        messages.append(ForwardMsg.FromString(await asyncio.wait_for(socket.recv(), patience)))
    return messages


def exceptions(messages: Sequence[ForwardMsg]) -> list[str]:
    """Returns the exceptions on a page."""
    elements = [message.delta.new_element for message in messages]
    return [element.exception.message[:120] for element in elements if element.HasField("exception")]


def header(messages: Sequence[ForwardMsg], component: str) -> dict[str, Any]:
    """Returns the header of the last payload of a component; empty without one."""
    sent = [message.delta.new_element.bidi_component for message in messages]
    packed = [each.bytes for each in sent if each.component_name.endswith(f"attention_lab_{component}") and each.bytes]
    return unpack(packed[-1])[0] if packed else {}


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


def summary(times: list[float]) -> dict[str, float]:
    return {"p50 ms": times[len(times) // 2], "p95 ms": times[int(len(times) * 0.95)], "max ms": times[-1]}


async def act(socket: Any, query: str) -> tuple[float, list[str]]:
    """Opens a link; returns the milliseconds of the run, and the exceptions on the page."""
    began = time.perf_counter()
    messages = await open_link(socket, query)
    return (time.perf_counter() - began) * 1e3, exceptions(messages)


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
