"""Links that simulated visitors open, and the time of an opened link.

A link is the most expensive action: it needs a whole run of the script, and a forward pass unless the result is cached.
"""

import random
import time
from typing import Any
from urllib.parse import parse_qsl, urlencode

from app.state.lab_state import FIRST_PAGE, PAGES
from app.state.link import query_of, read_query
from benchmarks.load.client import exceptions, open_link
from models import catalogue

WORDS = ["once", "upon", "time", "there", "was", "little", "dragon", "girl", "king", "who", "said", "to", "the", "old",
         "dog", "in", "forest", "and", "ran", "away", "home"]

OPENED = ("", "", "", *(page for page in PAGES if page != FIRST_PAGE))  # the Lab is three times as frequent


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
