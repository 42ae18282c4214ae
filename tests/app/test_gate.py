"""What strangers reach of a host, and what its answers say to browsers; how it is; what it writes down.

    pytest tests/app/test_gate.py
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from app.server import gate, health, limits, logs
from app.server.gate import Gate

Answer = tuple[int, dict[str, str], bytes]
OWN = {"host": "lab.example.org"}


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """asyncio.run in a thread of its own: tests in a browser leave a loop running in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


async def inner(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Stands in for Streamlit: what gets here got in."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-inner", b"yes")]})
    await send({"type": "http.response.body", "body": b"in"})


def asked(guard: Gate, path: str = "/", headers: dict[str, str] | None = None, method: str = "GET",
          kind: str = "http") -> list[dict[str, Any]]:
    """The messages that come back."""
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect" if kind == "websocket" else "http.request", "body": b""}

    scope = {"type": kind, "path": path, "method": method, "query_string": b"", "scheme": "http",
             "headers": [(key.encode(), value.encode("latin-1")) for key, value in (headers or OWN).items()]}
    run(guard(scope, receive, send))
    return sent


def status(*args: Any, **named: Any) -> int:
    return asked(*args, **named)[0]["status"]


def headers(*args: Any, **named: Any) -> dict[str, str]:
    return {key.decode().lower(): value.decode() for key, value in asked(*args, **named)[0]["headers"]}


@pytest.mark.parametrize("path", ["/_stcore/metrics", "/_stcore/script-health-check", "/_stcore/agent/interact",
                                  "/_stcore/agent/openapi.json", "/_stcore/agent/mcp", "/auth/login",
                                  "/oauth2callback"])
@pytest.mark.parametrize("method", ["GET", "POST", "HEAD"])
def test_what_nothing_uses_is_closed(path: str, method: str):
    assert status(Gate(inner), path, method=method) == 404


@pytest.mark.parametrize("path", ["/", "/results", "/_stcore/health", "/_stcore/host-config", "/static/js/a.js",
                                  "/media/a.csv", "/healthz", "/_stcore/metricsandmore"])
def test_what_the_app_is_made_of_is_open(path: str):
    assert status(Gate(inner), path) == 200


@pytest.mark.parametrize(("host", "known"), [
    ("lab.example.org", True), ("LAB.example.org.", True), ("lab.example.org:8501", True), ("a.school.test", True),
    ("school.test", False), ("evil.test", False), ("lab.example.org.evil.test", False), ("", False),
    ("lab.example.org@evil.test", False), ("lab.example.org/x", False), ("a b", False), ("[::1]:8501", False)])
def test_a_host_knows_its_names(host: str, known: bool):
    guard = Gate(inner, hosts=["lab.example.org", "*.school.test"])
    assert status(guard, headers={"host": host}) == (200 if known else 400)
    accepted = asked(guard, "/_stcore/stream", {"host": host}, kind="websocket")[0]["type"] == "websocket.accept"
    assert accepted == known
    assert status(guard, "/healthz", {"host": host}) == 200  # a balancer asks by number


def test_without_names_every_name_is_known_but_none_that_is_no_name():
    assert status(Gate(inner), headers={"host": "10.0.0.7:8501"}) == 200
    for host in ("", "a b", "a\x00", "x; frame-ancestors *", "é.test"):
        assert status(Gate(inner), headers={"host": host}) == 400


@pytest.mark.parametrize(("origin", "own"), [(None, True), ("http://lab.example.org", True),
                                             ("https://evil.test", False), ("null", False), ("", False),
                                             ("http://lab.example.org:81", False)])
def test_pages_of_other_sites_open_no_visit(origin: str | None, own: bool, monkeypatch):
    """And nothing is looked up for them: Streamlit would ask the internet for its own address."""
    asking = OWN | ({} if origin is None else {"origin": origin})
    accepted = asked(Gate(inner), "/_stcore/stream", asking, kind="websocket")[0]["type"] == "websocket.accept"
    assert accepted == own
    assert status(Gate(inner), "/_stcore/upload_file/a/b", asking, "PUT") == (200 if own else 403)
    assert status(Gate(inner), "/static/js/a.js", asking) == 200


def test_files_are_held_up_to_a_limit(monkeypatch):
    monkeypatch.setattr(gate, "uploaded", lambda: gate.MOST_UPLOADED + 1)
    assert status(Gate(inner), "/_stcore/upload_file/a/b", method="PUT") == 503
    assert status(Gate(inner), "/_stcore/upload_file/a/b", method="DELETE") == 200


def policy(*args: Any, **named: Any) -> dict[str, list[str]]:
    """Directive -> its values."""
    parts = (part.split() for part in headers(*args, **named)["content-security-policy"].split("; "))
    return {name: values for name, *values in parts}


@pytest.mark.parametrize("path", ["/", "/healthz", "/_stcore/metrics"])
def test_every_answer_says_what_browsers_may_do(path: str):
    found = headers(Gate(inner), path)
    assert found["x-content-type-options"] == "nosniff" and found["referrer-policy"] == "same-origin"
    rules = policy(Gate(inner), path)
    assert rules["default-src"] == ["'self'"] and rules["object-src"] == ["'none'"]
    assert "'unsafe-inline'" not in rules["script-src"] and "'unsafe-eval'" not in rules["script-src"]
    assert any(re.fullmatch(r"'sha256-[\w+/]{43}='", value) for value in rules["script-src"])
    assert "ws://lab.example.org" in rules["connect-src"] and "*" not in " ".join(map(" ".join, rules.values()))


def test_frames_are_a_setting(monkeypatch):
    assert policy(Gate(inner))["frame-ancestors"] == ["'self'"]
    monkeypatch.setenv(gate.FRAMES, "https://school.test, https://*.moodle.test")
    found = policy(Gate(inner, frames=gate.words(gate.FRAMES)))["frame-ancestors"]
    assert found == ["'self'", "https://school.test", "https://*.moodle.test"]


def test_a_host_is_ready_when_its_first_model_has_read_a_text(monkeypatch):
    monkeypatch.setattr(health, "_ready", threading.Event())
    monkeypatch.setattr(health.serving, "prepare", lambda: None)
    assert run(health.healthz(None)).status_code == 503
    health._warm_up()
    assert run(health.healthz(None)).status_code == 200


def test_a_host_without_a_model_is_never_ready(monkeypatch, caplog):
    def nothing() -> str:
        raise LookupError("/home/somebody/secret")

    monkeypatch.setattr(health, "_ready", threading.Event())
    monkeypatch.setattr(health.serving, "prepare", lambda: None)
    monkeypatch.setattr(health, "default_model", nothing)
    logging.getLogger("attention_lab").propagate = True
    health._warm_up()
    assert run(health.healthz(None)).status_code == 503
    assert "LookupError in" in caplog.text and "secret" not in caplog.text


def test_the_numbers():
    registry = CollectorRegistry()
    registry.register(health.Numbers())
    limits.asked["passes"] += 3
    text = generate_latest(registry).decode()
    assert f'attention_lab_asked_total{{what="passes"}} {float(limits.asked["passes"])}' in text
    for line in ("attention_lab_sessions 0.0", 'attention_lab_queue{turn="drawing"} 0.0', "attention_lab_errors_total"):
        assert line in text
    held = dict(re.findall(r'attention_lab_memory_bytes\{what="(\w+)"\} (\S+)', text))
    assert set(held) == {"models", "traces", "layers", "uploads", "process"} and float(held["process"]) > 50e6


@pytest.fixture
def writing(monkeypatch):
    """logs.begin, undone afterwards."""
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    factory = logging.getLogRecordFactory()
    logs.begin()
    yield
    logging.setLogRecordFactory(factory)


def fails(text: str) -> None:
    raise KeyError(text)


def test_an_error_is_one_line_without_what_was_typed(writing, caplog):
    before = logs.errors()
    try:
        fails("my secret text")
    except KeyError as error:
        logging.getLogger("a library").error("Uncaught app execution", exc_info=error)
    (record,) = caplog.records
    line = fails.__code__.co_firstlineno + 1
    assert record.getMessage() == f"error: KeyError in tests/app/test_gate.py, line {line} (fails)"
    assert "secret" not in logging.Formatter().format(record) and "\n" not in logging.Formatter().format(record)
    assert logs.errors() == before + 1
    logging.getLogger("streamlit").warning("A line %s", "as it is")
    assert logs.errors() == before + 1


def test_an_error_of_a_thread_is_one_line_too(writing, caplog):
    logging.getLogger("attention_lab").propagate = True
    thread = threading.Thread(target=fails, args=("my secret text",))
    thread.start()
    thread.join()
    assert "KeyError in tests/app/test_gate.py" in caplog.text and "secret" not in caplog.text
