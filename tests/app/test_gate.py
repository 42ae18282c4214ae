"""Tests of hosted mode: filter of requests, uploads, sockets and security headers."""

import asyncio
import logging
import re
import socket
import weakref
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from google.protobuf.internal import encoder
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import ClientDisconnect
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from app.server import gate, incoming, limits
from app.server.gate import Gate
from app.server.streamlit_internals import UPLOAD_PATH
from tests.own_loop import run

OWN = {"host": "lab.example.org"}


async def inner(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Stands for Streamlit: a request that reaches this function has passed the gate."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-inner", b"yes")]})
    await send({"type": "http.response.body", "body": b"in"})


def asked(guard: Gate, path: str = "/", headers: dict[str, str] | None = None, method: str = "GET",
          kind: str = "http", client: str = "192.0.2.1",
          extensions: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """Sends one request to the gate and returns the messages of the response."""
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect" if kind == "websocket" else "http.request", "body": b""}

    scope = {"type": kind, "path": path, "method": method, "query_string": b"", "scheme": "http", "client": (client, 1),
             "headers": [(key.encode(), value.encode("latin-1")) for key, value in (headers or OWN).items()],
             "extensions": extensions or {}}
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
def test_a_host_accepts_only_its_own_names(host: str, known: bool):
    guard = Gate(inner, hosts=["lab.example.org", "*.school.test"])
    assert status(guard, headers={"host": host}) == (200 if known else 400)
    accepted = asked(guard, "/_stcore/stream", {"host": host}, kind="websocket")[0]["type"] == "websocket.accept"
    assert accepted == known
    assert status(guard, "/healthz", {"host": host}) == 200  # a balancer addresses a replica by IP address


@pytest.mark.parametrize(("given", "status", "reason"), [
    ({"host": "lab.example.org", "origin": "https://other.test"}, 403, "A proxy must forward the Host header"),
    ({"host": "unknown.test"}, 400, "ATTENTION_LAB_HOSTS")])
def test_a_refused_websocket_has_a_reason_and_a_line_in_the_log(given: dict[str, str], status: int, reason: str,
                                                                caplog: pytest.LogCaptureFixture, monkeypatch):
    """Each pair of headers is logged once."""
    monkeypatch.setattr(logging.getLogger("attention_lab"), "propagate", True)
    gate._log.cache_clear()
    guard = Gate(inner, hosts=["lab.example.org"])
    for _ in range(3):
        begin, body = asked(guard, "/_stcore/stream", given, kind="websocket",
                            extensions={"websocket.http.response": {}})
    assert begin["status"] == status and reason in body["body"].decode()
    assert [reason in record.getMessage() and given["host"] in record.getMessage() for record in caplog.records] == [
        True]


def test_without_names_every_name_is_known_but_none_that_is_no_name():
    assert status(Gate(inner), headers={"host": "10.0.0.7:8501"}) == 200
    for host in ("", "a b", "a\x00", "x; frame-ancestors *", "é.test"):
        assert status(Gate(inner), headers={"host": host}) == 400


@pytest.mark.parametrize(("host", "known"), [
    ("localhost:8501", True), ("127.0.0.1:8501", True), ("[::1]:8501", True), ("192.168.1.7", True),
    (f"{socket.gethostname()}:8501", True), ("named.test", True), ("evil.example:8501", False),
    ("localhost.evil.example", False), ("127.0.0.1.evil.example", False), ("[::1].evil.example", False)])
def test_a_persons_own_machine_answers_to_its_own_names(host: str, known: bool):
    """In DNS rebinding, another site's name resolves to this machine, and is in the headers Host and Origin."""
    guard, rebound = Gate(inner, hosts=["named.test"], local=True), {"host": host, "origin": f"http://{host}"}
    assert status(guard, headers={"host": host}) == (200 if known else 400)
    accepted = asked(guard, "/_stcore/stream", rebound, kind="websocket")[0]["type"] == "websocket.accept"
    assert accepted == known
    assert status(Gate(inner, local=True), "/lab/visits/a/events", rebound, "POST") == (
        200 if known and host != "named.test" else 400)


@pytest.mark.parametrize(("origin", "own"), [(None, True), ("http://lab.example.org", True),
                                             ("https://evil.test", False), ("null", False), ("", False),
                                             ("http://lab.example.org:81", False),
                                             ("http://lab.example.org:80", True), ("http://LAB.example.org", True)])
def test_pages_of_other_sites_open_no_visit(origin: str | None, own: bool, monkeypatch):
    """Pages of other sites cannot open a session or upload files. Static files are available to them."""
    asking = OWN | ({} if origin is None else {"origin": origin})
    accepted = asked(Gate(inner), "/_stcore/stream", asking, kind="websocket")[0]["type"] == "websocket.accept"
    assert accepted == own
    assert status(Gate(inner), "/_stcore/upload_file/a/b", asking, "PUT") == (200 if own else 403)
    assert status(Gate(inner), "/static/js/a.js", asking) == 200


UPLOAD = "/_stcore/upload_file/visit/file"


def test_a_visitor_who_leaves_is_no_error():
    async def left(scope: dict[str, Any], receive: Any, send: Any) -> None:
        raise ClientDisconnect

    assert asked(Gate(left), "/lab/visits/a/events", method="POST") == []


def test_stored_uploads_have_limits(monkeypatch):
    most = limits.UPLOADS.process
    monkeypatch.setattr(incoming, "uploaded_bytes", lambda session=None: most if session is None else 0)
    assert status(Gate(inner), UPLOAD, method="PUT") == 503
    assert status(Gate(inner), UPLOAD, method="DELETE") == 200
    monkeypatch.setattr(incoming, "uploaded_bytes", lambda session=None: limits.UPLOADS.visit - 100)
    assert status(Gate(inner), UPLOAD, OWN | {"content-length": "101"}, "PUT") == 413
    assert status(Gate(inner), UPLOAD, OWN | {"content-length": "100"}, "PUT") == 200
    # a request with an invalid length is refused like one that is too large
    assert status(Gate(inner), UPLOAD, OWN | {"content-length": "x"}, "PUT") == 413


def test_files_on_their_way_count_too():
    size = str(incoming.LARGEST_UPLOAD)
    first, second, third = (f"/_stcore/upload_file/a/{number}" for number in range(3))
    with incoming.upload_place(first, size) as none, incoming.upload_place(second, size) as neither:
        assert none is neither is None
        with incoming.upload_place(third, size) as refusal:
            assert refusal and refusal[0] == 413
        with incoming.upload_place("/_stcore/upload_file/b/1", size) as other:
            assert other is None
    with incoming.upload_place(third, size) as refusal:
        assert refusal is None
    assert not limits._process.used


def test_the_uploads_of_one_address_leave_room_for_others(monkeypatch):
    monkeypatch.setattr(incoming, "uploading_sessions", lambda: ["a", "b", "c"])
    stored = {"a": 16 * limits.MB, "b": 16 * limits.MB, "c": 0}
    monkeypatch.setattr(incoming, "uploaded_bytes", lambda session=None: stored.get(session, 0) if session else 40e6)
    size = str(incoming.LARGEST_UPLOAD)
    for session in "ab":
        with incoming.upload_place(f"{UPLOAD_PATH}{session}/1", "1", "192.0.2.1"):
            pass
    with incoming.upload_place(f"{UPLOAD_PATH}c/1", size, "192.0.2.1") as own, incoming.upload_place(
            f"{UPLOAD_PATH}c/2", size, "192.0.2.1") as again, incoming.upload_place(
            f"{UPLOAD_PATH}d/1", size, "192.0.2.2") as other:
        assert own is None and again and again[0] == 503 and other is None


def test_a_file_that_takes_too_long_is_given_up(monkeypatch):
    monkeypatch.setattr(incoming, "UPLOAD_SECONDS", 0.05)

    async def never() -> dict[str, Any]:
        await asyncio.sleep(60)
        return {}

    async def ask() -> Any:
        return await incoming.upload_within_time(never)()

    assert run(ask())["type"] == "http.disconnect"


def back(**fields: Any) -> BackMsg:
    """Returns a message from the browser to Streamlit."""
    message = BackMsg()
    for name, value in fields.items():
        setattr(message, name, value)
    return message


def rerun(widgets: int = 1, text: str = "x", fragment: str = "") -> bytes:
    message = BackMsg()
    message.rerun_script.fragment_id = fragment
    for number in range(widgets):
        message.rerun_script.widget_states.widgets.add(id=f"widget {number}", string_value=text)
    return message.SerializeToString()


def files(count: int) -> bytes:
    message = BackMsg()
    message.file_urls_request.file_names.extend(f"{number}.png" for number in range(count))
    return message.SerializeToString()


@pytest.mark.parametrize(("data", "allowed"), [
    (rerun(), True), (rerun(text="中" * 100_000), True), (rerun(text="x" * 800 * 1024), False),
    (rerun(incoming.MOST_WIDGETS), True), (rerun(incoming.MOST_WIDGETS + 1), False),
    (rerun(fragment="f" * 1001), False), (files(2), True), (files(500), False),
    (back(stop_script=True).SerializeToString(), True), (back(app_heartbeat=True).SerializeToString(), True),
    (back(load_git_info=True).SerializeToString(), False), (back(clear_cache=True).SerializeToString(), False),
    (back(set_run_on_save=True).SerializeToString(), False),
    (back(debug_shutdown_runtime=True).SerializeToString(), False),
    (back(debug_disconnect_websocket=True).SerializeToString(), False),
    (b"", False), (b"\xff" * 20, False), (b"\x0a\xff\xff\xff\xff\x0f", False), (b"=\0\0\0\0", False),
    (back(load_git_info=True).SerializeToString() * 400, False),
    (back(stop_script=True).SerializeToString() + back(clear_cache=True).SerializeToString(), False)])
def test_only_messages_of_the_pages_reach_streamlit(data: bytes, allowed: bool):
    assert incoming.is_allowed(data) == allowed


@given(st.binary(max_size=300))
def test_any_bytes_are_judged(data: bytes):
    """Every message that passes the gate can be parsed by Streamlit."""
    if incoming.is_allowed(data):
        assert BackMsg.FromString(data).WhichOneof("type") in incoming._BYTES


@given(st.dictionaries(st.integers(1, 2000), st.binary(max_size=40), max_size=incoming.MOST_FIELDS))
def test_fields_are_read_as_protobuf_writes_them(parts: dict[int, bytes]):
    written = b"".join(_bytes_field(number, value) for number, value in parts.items())
    assert incoming.fields_of(written) == set(parts)


def _bytes_field(number: int, value: bytes) -> bytes:
    found: list[bytes] = []
    encoder.BytesEncoder(number, False, False)(found.append, value, None)
    return b"".join(found)


def test_who_sends_too_fast_or_works_too_much_is_read_more_slowly(monkeypatch):
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.receive", "bytes": rerun()}

    monkeypatch.setattr(gate, "asyncio", SimpleNamespace(sleep=sleep))
    monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=lambda: 0.0))
    payer = limits.Payer()
    read = gate._paced(receive, gate._Socket(payer))
    for _ in range(int(limits.MESSAGES.visit)):
        run(read())
    assert not any(slept)
    run(read())
    assert 0 < slept[-1] <= 1 / 60
    payer.take(limits.WORK, 2 * limits.WORK.visit)
    run(read())
    assert slept[-1] > 50


def test_the_messages_of_a_websocket_count_for_its_visit():
    message = ForwardMsg()
    message.new_session.initialize.session_id = "a session"
    pays = gate._Socket(limits.Payer())

    async def send(message: Any) -> None:
        pass

    run(gate._discreet(send, pays)({"type": "websocket.send", "bytes": message.SerializeToString()}))
    assert pays.payer.visit is limits.of_session("a session")


def test_an_address_and_a_process_have_so_many_sockets():
    guard = Gate(inner)
    guard._sockets = limits.Room("sockets", address=1)
    accepted = []

    async def outer(scope: dict[str, Any], receive: Any, send: Any) -> None:
        await inner(scope, receive, send)
        guard._app = inner
        accepted.append(asked(guard, "/_stcore/stream", kind="websocket")[0]["type"])
        accepted.append(asked(guard, "/_stcore/stream", kind="websocket", client="192.0.2.2")[0]["type"])

    guard._app = outer
    assert asked(guard, "/_stcore/stream", kind="websocket")[0]["type"] == "websocket.accept"
    assert accepted == ["websocket.close", "websocket.accept"]
    assert asked(guard, "/_stcore/stream", kind="websocket")[0]["type"] == "websocket.accept"


def test_descriptors_are_raised_to_what_the_system_allows():
    resource = pytest.importorskip("resource")
    limit = incoming.raise_descriptors()
    assert limit == resource.getrlimit(resource.RLIMIT_NOFILE)[0] or limit == incoming.DESCRIPTORS


def test_a_closed_connection_keeps_nothing_that_it_received():
    incoming.bound_server()

    async def closed() -> Any:
        connection = H11Protocol(Config(inner), ServerState(), {})
        connection.connection_made(MagicMock())
        connection.data_received(b"POST / HTTP/1.1")
        connection.connection_lost(None)
        return weakref.ref(connection)

    async def kept() -> bool:
        last = await asyncio.create_task(closed())
        return last() is not None

    assert not run(kept())


def policy(*args: Any, **named: Any) -> dict[str, list[str]]:
    """Returns the Content-Security-Policy as a mapping of directives to values."""
    parts = (part.split() for part in headers(*args, **named)["content-security-policy"].split("; "))
    return {name: values for name, *values in parts}


@pytest.mark.parametrize("path", ["/", "/healthz", "/_stcore/metrics", "/lab/visits/x/events"])
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
