"""Tests of the health check, the metrics and the log of a hosted app."""

import asyncio
import logging
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from app.server import health, incoming, limits, logs, serving
from app.state.lab_state import first_examples
from models.errors import broken
from tests.own_loop import run


@pytest.fixture
def cold(monkeypatch) -> None:
    """A host that has not loaded a model yet."""
    monkeypatch.setattr(health, "_ready", threading.Event())
    monkeypatch.setattr(health.serving, "prepare", lambda: None)
    logging.getLogger("attention_lab").propagate = True


def test_a_host_is_ready_when_its_first_model_has_read_a_text(cold):
    assert run(health.healthz(None)).status_code == 503
    health._warm_up(first_examples)
    assert run(health.healthz(None)).status_code == 200


def test_a_damaged_default_model_keeps_no_visitor_from_the_other_models(cold, monkeypatch, caplog):
    (name, _), *_others = first_examples()
    load = health.serving.load

    def damaged(asked: str) -> Any:
        if asked == name:
            raise broken(Path("models/checkpoints") / name / "model.safetensors", "is damaged")
        return load(asked)

    monkeypatch.setattr(health.serving, "load", damaged)
    health._warm_up(first_examples)
    assert run(health.healthz(None)).status_code == 200
    assert f"models/checkpoints/{name}/model.safetensors is damaged" in caplog.text


def test_a_host_without_a_model_is_never_ready(cold, caplog):
    def nothing() -> Iterator[tuple[str, str]]:
        raise LookupError("/home/somebody/secret")

    for models in (nothing, lambda: [("nobody", "a text")], lambda: []):
        health._warm_up(models)
        assert run(health.healthz(None)).status_code == 503
    assert "LookupError in" in caplog.text and "no model can be used" in caplog.text and "secret" not in caplog.text


@pytest.mark.parametrize(("loop", "step"), [
    (lambda: serving._collect_now_and_then(), "app.server.serving._collect"),
    (lambda: asyncio.run(incoming.end_sessions()), "app.server.streamlit_internals.end_expired_sessions")])
def test_an_endless_loop_goes_on_after_an_error(loop, step, monkeypatch, caplog):
    """The collector and the sweep of sessions log an error once per round and go on."""
    logging.getLogger("attention_lab").propagate = True
    rounds = []

    def fails(*args: Any) -> None:
        rounds.append(1)
        raise MemoryError if len(rounds) < 3 else SystemExit

    monkeypatch.setattr(step, fails)
    monkeypatch.setattr(serving, "TRIM", 0.0)
    monkeypatch.setattr(incoming, "SWEEP", 0.0)
    with ThreadPoolExecutor(1) as pool, pytest.raises(SystemExit):
        pool.submit(loop).result(10)
    assert len(rounds) == 3 and len(caplog.records) == 2


def test_the_numbers():
    registry = CollectorRegistry()
    registry.register(health.Numbers())
    limits.used["passes"] += 3
    text = generate_latest(registry).decode()
    assert f'attention_lab_asked_total{{what="passes"}} {float(limits.used["passes"])}' in text
    for line in ("attention_lab_sessions 0.0", 'attention_lab_queue{turn="drawing"} 0.0', "attention_lab_errors_total"):
        assert line in text
    held = dict(re.findall(r'attention_lab_memory_bytes\{what="(\w+)"\} (\S+)', text))
    assert set(held) == {"models", "traces", "layers", "uploads", "process"} and float(held["process"]) > 50e6


@pytest.fixture
def writing(monkeypatch):
    """Starts the log and stops it after the test."""
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    factory = logging.getLogRecordFactory()
    logs.begin()
    yield
    logging.setLogRecordFactory(factory)


def fails(text: str) -> None:
    raise KeyError(text)


def test_an_error_has_its_traceback_and_nothing_that_was_typed(writing, caplog):
    before = logs.errors()
    try:
        fails("my secret text")
    except KeyError as error:
        logging.getLogger("a library").error("Uncaught app execution", exc_info=error)
    (record,) = caplog.records
    first, *frames = record.getMessage().splitlines()
    line = fails.__code__.co_firstlineno + 1
    assert first == f"error: KeyError in tests/app/test_health.py, line {line} (fails)"
    assert any(f"line {line}, in fails" in frame for frame in frames)
    assert "my secret" not in logging.Formatter().format(record).replace('fails("my secret text")', "")
    assert logs.errors() == before + 1
    logging.getLogger("streamlit").warning("A line %s", "as it is")
    assert logs.errors() == before + 1 and caplog.records[-1].getMessage() == "A line as it is"


def test_tracebacks_of_one_place_are_limited_per_minute(writing, caplog, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(logs, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(logs, "_written", {})
    before = logs.errors()

    def log() -> str:
        try:
            fails("x")
        except KeyError as error:
            logging.getLogger("a library").error("", exc_info=error)
        return caplog.records[-1].getMessage()

    lines = [log().count("\n") for _ in range(logs.MOST + 2)]
    assert all(lines[:logs.MOST]) and not any(lines[logs.MOST:])
    now[0] += logs.MINUTE + 1
    assert log().count("\n") and logs.errors() == before + logs.MOST + 3 and len(logs._written) == 1


def test_an_error_of_a_thread_is_written_too(writing, caplog):
    logging.getLogger("attention_lab").propagate = True
    thread = threading.Thread(target=fails, args=("my secret text",))
    thread.start()
    thread.join()
    record = caplog.records[0]
    assert record.getMessage().startswith("error: KeyError in tests/app/test_health.py")
    assert "my secret text" not in record.getMessage()


@pytest.mark.parametrize(("message", "line"), [
    ("fragment a\n2026 forged line\x1b[31m", "fragment a\\n2026 forged line\\x1b[31m"),
    ("x" * 3_000_000, "x" * logs.LONGEST + "…"), ("a 中文 \u202e", "a 中文 \\u202e"),
    ("session 0f8fad5b-d9cb-469f-a165-70867728950e gone", "session (id) gone"), ("100% of %s", "100% of %s")])
def test_a_message_is_one_short_line(message: str, line: str, writing, caplog):
    """It has no control characters, and no session id, with which somebody could take over the session."""
    logging.getLogger("streamlit").warning(message)
    logging.getLogger("streamlit").warning("%s", message)
    assert [record.getMessage() for record in caplog.records] == [line, line]
