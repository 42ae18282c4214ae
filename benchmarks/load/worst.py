"""Measures the memory of one process under the worst load: all models, the longest texts, pages with four models.

    python -m benchmarks.load.worst --minutes 5 --visitors 40
"""

import argparse
import asyncio
import json
import random
import time
from typing import Any
from urllib.parse import urlencode

import httpx2

import models
from benchmarks.load.soak import Record, Visitor
from benchmarks.load.visitors import WORDS, exceptions, header, open_link, resident, server_of
from models import catalogue
from tests.browser import serve

LIMIT = 1e9  # memory of a small host in bytes
PATIENCE = 600.0  # seconds; every visitor waits behind the slow pages of all others, and only memory is measured


def worst_link(draw: random.Random) -> str:
    """Returns a link whose result is not cached; expensive pages are more frequent than other pages."""
    name = draw.choice(models.names())
    family = [other for other in catalogue.family(name) if other != name]
    page = draw.choice(("lab", "compare", "compare", "length", "results", "about"))
    if catalogue.find(name).task.name == "assignment":
        events = [f"{draw.choice('abcdefgh')}={draw.randrange(10)}" for _ in range(draw.choice((60, 250)))]
        text = "; ".join(["a=1", *events, "a=?"])
    else:
        text = " ".join(draw.choices(WORDS, k=draw.choice((100, 480, 480))))
        if draw.random() < 0.05:
            text += "🐉" * 30_000
    link = {"model": name, "text": text, "plan": "self-0.0c-0.0g0.5" if draw.random() < 0.3 else "self-0.0g0.5"}
    link |= {"compare": {"lab": "all.second"}, "length": {"lab": "all.length"}}.get(page, {"page": page})
    if page in ("compare", "length"):
        link["with"] = " ".join(draw.sample(family, min(3, len(family))))
    return urlencode(link)


async def mix(address: str, visitors: int, seconds: float, process: int) -> dict[str, Any]:
    """Measures the memory while all visitors act without a pause."""
    record, stop, draw = Record(), time.perf_counter() + seconds, random.Random(0)
    course: list[int] = []

    async def act(person: Visitor) -> None:
        await person.http.get("/")
        async with person.connected() as socket:
            while time.perf_counter() < stop:
                page = await open_link(socket, worst_link(draw), PATIENCE)
                record.checked += 1
                record.errors.extend(exceptions(page))
                visit = header(page, "bar").get("visit", "")
                while time.perf_counter() < stop and await _written(person.http, visit) == 429:
                    await asyncio.sleep(1.0)

    async def watch() -> None:
        while time.perf_counter() < stop:
            course.append(resident(process, "VmRSS"))
            await asyncio.sleep(1.0)

    await asyncio.gather(watch(), *(act(Visitor(address, record)) for _ in range(visitors)))
    fifths = [max(course[len(course) * part // 5:len(course) * (part + 1) // 5]) / 1e6 for part in range(5)]
    await asyncio.sleep(65)  # until the full garbage collection, once per minute, has run
    return {"links": record.checked, "errors": len(record.errors), "first errors": sorted(set(record.errors))[:3],
            "MB, highest of each fifth": [round(fifth) for fifth in fifths],
            "MB at the peak": round(resident(process, "VmHWM") / 1e6),
            "MB afterwards": round(resident(process, "VmRSS") / 1e6)}


async def _written(http: httpx2.AsyncClient, visit: str) -> int:
    """Asks for the text that an encoder-decoder writes, as the Lab does after its first page; returns the status."""
    sequence = time.time_ns() // 10**6
    event = {"key": "lab", "type": "written", "sequence": sequence}
    answer = await http.post(f"/lab/visits/{visit}/events", json={"seen": 0, "events": [event]}, timeout=PATIENCE)
    return answer.status_code


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--visitors", type=int, default=40)
    arguments = parser.parse_args()
    with serve("app/host.py") as address:
        result = asyncio.run(mix(address, arguments.visitors, 60 * arguments.minutes, server_of(address)))
    print(json.dumps(result | {"below 1 GB": result["MB at the peak"] < LIMIT / 1e6}))


if __name__ == "__main__":
    main()
