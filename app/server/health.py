"""How a process is: `/healthz` for balancers, and numbers for Prometheus on a port of their own.

    GET /healthz               200 `ready` once the first model is loaded and has read a text, 503 before
    ATTENTION_LAB_METRICS=9100 or 127.0.0.1:9100 in the environment: GET http://HOST:9100/metrics
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator

from prometheus_client import REGISTRY, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from streamlit.runtime import Runtime

import models
from app.server import caches, limits, logs, serving, uploads
from app.state.lab_state import default_model, example_text

HEALTH = "/healthz"
METRICS = "ATTENTION_LAB_METRICS"  # in the environment

_LOG = logging.getLogger("attention_lab")
_ready = threading.Event()


async def healthz(request: Request) -> PlainTextResponse:
    """What a balancer asks."""
    return PlainTextResponse("ready\n", 200) if _ready.is_set() else PlainTextResponse("loading\n", 503)


def begin() -> None:
    """Loads the first model beside the server, and opens the port of the numbers where there is to be one."""
    threading.Thread(target=_warm_up, daemon=True, name="warm up").start()
    if where := os.environ.get(METRICS):
        address, _, port = where.rpartition(":")
        REGISTRY.register(Numbers())
        start_http_server(int(port), address or "127.0.0.1")


def _warm_up() -> None:
    try:
        serving.prepare()
        name = default_model()
        lab = serving.load(name)
        with serving.computing():
            models.run(lab, example_text(name))
    except Exception as error:  # whatever it is, this process stays away from visitors
        _LOG.error("not ready: %s", logs.in_one_line(error))
    else:
        _ready.set()


class Numbers:
    """What is counted, read at each request; nothing in it is about one visitor, nor from a text."""

    def collect(self) -> Iterator[Metric]:
        yield _gauge("sessions", "Visits that are open.", _sessions())
        yield _gauge("ready", "1 once the first model is loaded.", int(_ready.is_set()))
        waiting = GaugeMetricFamily("attention_lab_queue", "Visitors that wait for a turn.", labels=["turn"])
        for turn, count in serving.waiting().items():
            waiting.add_metric([turn], count)
        yield waiting
        memory = GaugeMetricFamily("attention_lab_memory_bytes", "Memory, by what holds it.", labels=["what"])
        held = {"models": sum(lab.nbytes for lab in models.in_memory()), "traces": caches.traces.nbytes,
                "layers": caches.layers.nbytes, "uploads": uploads.held(), "process": serving.resident()}
        for what, count in held.items():
            memory.add_metric([what], count)
        yield memory
        for name, told, counts in (("asked", "Passes, generations and downloads.", limits.asked),
                                   ("refused", "How often a visitor met a limit.", limits.refused)):
            asked = CounterMetricFamily(f"attention_lab_{name}", told, labels=["what"])
            for each in limits.ALL:
                asked.add_metric([each.name], counts[each.name])
            yield asked
        yield CounterMetricFamily("attention_lab_errors", "Errors that nobody expected.", value=logs.errors())


def _gauge(name: str, told: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"attention_lab_{name}", told, value=value)


def _sessions() -> int:
    """As Streamlit counts them."""
    if not Runtime.exists():
        return 0
    found = Runtime.instance().stats_mgr.get_stats(family_names=["active_sessions"])
    return sum(int(getattr(stat, "value", 0)) for stats in found.values() for stat in stats)
