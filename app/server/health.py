"""Health check for load balancers (`/healthz`) and metrics for Prometheus on a separate port.

    GET /healthz                              200 `ready` after a first forward pass of a model, 503 before
    ATTENTION_LAB_METRICS=9100                metrics at GET http://127.0.0.1:9100/metrics
    ATTENTION_LAB_METRICS=0.0.0.0:9100        metrics on all addresses of this machine
"""

import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator

from prometheus_client import REGISTRY, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from starlette.requests import Request
from starlette.responses import PlainTextResponse

import models
from app.server import caches, limits, logs, serving
from app.server.streamlit_internals import active_sessions, uploaded_bytes
from models.errors import CheckpointError

HEALTH = "/healthz"
METRICS = "ATTENTION_LAB_METRICS"  # name of an environment variable

_LOG = logging.getLogger("attention_lab")
_ready = threading.Event()


async def healthz(request: Request) -> PlainTextResponse:
    return PlainTextResponse("ready\n", 200) if _ready.is_set() else PlainTextResponse("loading\n", 503)


def begin(first: Callable[[], Iterable[tuple[str, str]]]) -> None:
    """Starts a thread that loads a first model, and the metrics server if ATTENTION_LAB_METRICS is set."""
    threading.Thread(target=_warm_up, args=(first,), daemon=True, name="warm up").start()
    if where := os.environ.get(METRICS):
        address, _, port = where.rpartition(":")
        REGISTRY.register(Numbers())
        start_http_server(int(port), address or "127.0.0.1")


def _warm_up(first: Callable[[], Iterable[tuple[str, str]]]) -> None:
    """Runs the first of the models that can be loaded. Without one, the health check stays at 503."""
    try:
        serving.prepare()
        for name, text in first():
            try:
                lab = serving.load(name)
                with serving.computing():
                    models.run(lab, text)
            except Exception as error:  # a damaged file of one model must not keep visitors from all others
                # only messages about our own files may be logged, because they contain no visitor's text
                why = str(error) if isinstance(error, CheckpointError) else logs.in_one_line(error)
                _LOG.error("%s cannot be used: %s", name, why)
            else:
                _ready.set()
                return
        _LOG.error("not ready: no model can be used")
    except Exception as error:
        _LOG.error("not ready: %s", logs.in_one_line(error))


class Numbers:
    """Prometheus collector. The metrics contain no input text and no data about a single visitor."""

    def collect(self) -> Iterator[Metric]:
        """Yields the metrics; Prometheus calls it once per scrape."""
        yield _gauge("sessions", "Visits that are open.", active_sessions())
        yield _gauge("ready", "1 once the first model is loaded.", int(_ready.is_set()))
        waiting = GaugeMetricFamily("attention_lab_queue", "Visitors that wait for a turn.", labels=["turn"])
        for turn, count in serving.waiting().items():
            waiting.add_metric([turn], count)
        yield waiting
        memory = GaugeMetricFamily("attention_lab_memory_bytes", "Memory, by what holds it.", labels=["what"])
        sizes = {"models": sum(lab.nbytes for lab in models.in_memory()), "traces": caches.traces.nbytes,
                 "layers": caches.layers.nbytes, "uploads": uploaded_bytes(), "process": serving.resident()}
        for what, count in sizes.items():
            memory.add_metric([what], count)
        yield memory
        for name, description, counts in (("asked", "Used units of each limit over time.", limits.used),
                                          ("refused", "How often a visitor met a limit.", limits.refused)):
            counter = CounterMetricFamily(f"attention_lab_{name}", description, labels=["what"])
            for each in limits.ALL:
                counter.add_metric([each.name], counts[each.name])
            yield counter
        yield CounterMetricFamily("attention_lab_errors", "Errors that nobody expected.", value=logs.errors())


def _gauge(name: str, description: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"attention_lab_{name}", description, value=value)
