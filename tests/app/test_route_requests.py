"""Requests to the events route and forged events: bodies, limits, links, visits that ended, words for refusals."""

import json
import re
import zlib
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.testclient import TestClient
from streamlit.testing.v1 import AppTest

from app import route
from app.markdown import literal
from app.panels import choosing
from app.server import limits, serving
from app.state import events, session, visit
from app.state.history import History
from app.state.lab_state import LabState
from app.state.link import read_query
from app.state.visit import Visit
from app.views import yours
from components import channel
from components.payload import unpack
from tests.app.test_pages import sent
from tests.app.test_route import click, pieces, visitor
from tests.app.visitors import visiting
from tests.browser import ROOT


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(Starlette(routes=[route.route("/lab")]))


def address_of(now: Visit) -> str:
    return f"/lab/lab/visits/{now.channel.id}/events"


def body_of(*events: Any) -> bytes:
    return json.dumps({"seen": 0, "events": events}).encode()


@pytest.mark.parametrize(("body", "status"), [
    (b"", 400), (b"[]", 400), (b"{}", 400), (b"{\"seen\": true, \"events\": []}", 400), (b"[" * 100_000, 400),
    (b"{\"seen\": 0, \"events\": 3}", 400), (b"\xff\xfe", 400),
    (body_of(*[{}] * 1025), 400), (b" " * (route.MAX_BODY + 1), 413),
    (body_of(None, 3, {"key": 4}, {"key": "nobody", "sequence": 1}, {"key": "heads", "sequence": 2, "type": ["x"]}),
     200)])
def test_a_forged_body_is_refused_and_changes_nothing(client: TestClient, body: bytes, status: int):
    now = visitor()
    before = now.history.present
    assert client.post(address_of(now), content=body).status_code == status
    assert now.history.present == before


def test_many_small_values_are_refused_before_they_are_parsed(monkeypatch: pytest.MonkeyPatch):
    """Parsing JSON holds the GIL: 690,000 empty objects took 0.3 s. Long texts of any characters are allowed."""
    text = "{[\"\\,]}" * 20_000
    event = {"key": "text", "sequence": 1, "type": "text", "text": text}
    assert route.parse(body_of(event)) == (0, [("text", event)])
    full = [{"key": "heads", "sequence": n, "type": "heads", "kind": "self", "layer": 10, "head": 10, "gate": 0.125}
            for n in range(256)]
    assert len(route.parse(body_of(*full))[1]) == 256

    def loads(body: bytes) -> None:
        raise AssertionError("parsed")

    monkeypatch.setattr(route, "json", SimpleNamespace(loads=loads))
    for values in ("{},", '"",', "0,", '"\\u0041",'):
        body = b'{"seen": 0, "events": [' + (values * (1_900_000 // len(values))).rstrip(",").encode() + b"]}"
        with pytest.raises(route.BodyError, match="outside strings"):
            route.parse(body)


def test_over_a_limit_the_browser_is_asked_to_come_back(client: TestClient, monkeypatch: pytest.MonkeyPatch):
    now = visitor()
    address, body = address_of(now), body_of(click(1))

    def ask() -> tuple[int, float]:
        response = client.post(address, content=body)
        return response.status_code, float(response.headers.get("retry-after-ms", 0))

    monkeypatch.setattr(route.random, "uniform", lambda *args: 0.0)
    payer = limits.Payer(now.allowance)
    with payer.holds(limits.REQUESTS, limits.REQUESTS.visit):
        assert ask() == (429, 1000)
    payer.take(limits.MESSAGES, 3 * limits.MESSAGES.visit / 2)
    status, pause = ask()
    assert status == 429 and 1000 < pause < 2100 and not now.channel.newest  # nothing was handled
    now.allowance.spent.clear()
    payer.take(limits.WORK, limits.WORK.visit + 1)
    assert ask()[0] == 429 and ask()[1] >= 1000
    now.allowance.spent.clear()
    assert ask() == (200, 0) and now.channel.newest == 1
    large = b" " * (route.MAX_BODY - 1)
    with payer.holds(limits.BODIES, limits.BODIES.visit):
        refusal = client.post(address, content=large)
        assert refusal.status_code == 429 and refusal.headers["connection"] == "close"  # the rest must not arrive
        assert ask() == (200, 0)  # a small body needs no room
    assert not now.allowance.used


def test_long_work_has_a_turn_of_its_own(client: TestClient, monkeypatch: pytest.MonkeyPatch):
    """Work that needs a beam search waits outside the threads; over four per address, the browser asks again."""
    now = visitor()
    address, body = address_of(now), body_of()
    tries: list[bool] = []

    def long(*args: Any) -> route.Answer:
        tries.append(True)
        serving.begin_long()
        tries.append(False)
        return route._blocks([b"done"]), [late]

    def late() -> bytes:
        return long()[0]

    monkeypatch.setattr(route, "answer", long)
    assert pieces(client.post(address, content=body).content) == [b"done", b"done"]
    assert tries == [True, True, False] * 2
    others = limits.Payer(address=limits.of_address("testclient"))
    with others.holds(limits.LONG, limits.LONG.address):
        assert client.post(address, content=body).status_code == 429
        monkeypatch.setattr(route, "answer", lambda *args: (route._blocks([b"maps"]), [late]))
        first, last = pieces(client.post(address, content=body).content)
        assert first == b"maps" and unpack(last)[0] == {"again": 1000}


@pytest.mark.parametrize("accepted", ["gzip, deflate, br", "identity"])
def test_each_block_of_a_response_can_be_read_when_it_arrives(accepted: str):
    block, is_packed = route._blocks([b"maps" * 999]), "deflate" in accepted
    encoded, headers = route._encoder(Request({"type": "http", "headers": [(b"accept-encoding", accepted.encode())]}))
    assert headers["Content-Encoding"] == ("deflate" if is_packed else "identity")
    read = zlib.decompressobj().decompress if is_packed else bytes
    for is_last in (False, False, True):
        sent = encoded(block, is_last)
        assert read(sent) == block and (len(sent) < len(block) / 2) is is_packed


def opening(number: int, text: str, kind: str = "open") -> tuple[str, dict[str, Any]]:
    return "bar", {"sequence": number, "type": kind, "query": f"model=stories-softmax&text={text}"}


def test_of_several_links_in_one_message_the_last_is_opened(monkeypatch: pytest.MonkeyPatch):
    now = visitor()
    read = []
    monkeypatch.setattr(events, "read_query", lambda query: read.append(query["text"]) or read_query(query))
    with visit.use(now):
        now.channel.receive([opening(n, f"text+{n}") for n in range(1, 251)])
        assert read == ["text 250"] and now.history.present.text == "text 250" and now.channel.newest == 250
        # an undo refers to the state before it, as in the browser's `fold`
        now.channel.receive([opening(251, "a"), ("bar", {"sequence": 252, "type": "undo"}), opening(253, "b")])
        assert read[1:] == ["a", "b"] and [state.text for state in now.history.past][-1] == "text 250"
        turns = [event for n in range(300, 500, 2)
                 for event in (opening(n, str(n)), ("bar", {"sequence": n + 1, "type": "undo"}))]
        now.channel.receive(turns)
        assert len(read) == 3 + channel.MAX_OPENED
        now.channel.receive([opening(600, "x" * session.MAX_QUERY)])
        assert len(read) == 3 + channel.MAX_OPENED and "Copy it again" in now.history.problems[0]


def test_an_unknown_visit_has_ended(client: TestClient):
    body = body_of()
    for name in ("x", "../../x", "%00", Visit().channel.id, "%3Cscript%3Ealert(1)"):
        answer = client.post(f"/lab/lab/visits/{name}/events", content=body)
        assert answer.status_code in (404, 410) and answer.headers["content-type"].startswith("text/plain")
        assert "<script" not in answer.text and "access-control-allow-origin" not in answer.headers
    assert client.get("/lab/lab/visits/x/events").status_code == 405


TEXT = "The cat [sat] on the mat."
FORGED: list[Any] = [-1, 10**30, 0.5, float("nan"), True, b"abc", [], [[]], [{}], [None], ["x"], (), {}, {"a": 1},
                     set(), object(), LabState, "no such thing", "\x00", "x" * 100_000, 7.0]


def named(value: object) -> str:
    """Returns a short form of a value, for the name of a test."""
    return f"{type(value).__name__} {str(value)[:12]!r}"


@pytest.fixture
def unconnected(monkeypatch) -> dict[str, Any]:
    """Returns the state of a session without Streamlit."""
    now = visiting(monkeypatch, History(LabState("stories-softmax", TEXT, compared=("stories-log-n",))))
    state: dict[str, Any] = {"visit": now}
    for module in (session, yours):
        monkeypatch.setattr(module, "st", SimpleNamespace(session_state=state))
    return state


@pytest.mark.parametrize("value", FORGED, ids=named)
def test_a_forged_text_is_the_text_or_changes_nothing(value: Any, unconnected):
    expected = replace(unconnected["visit"].history.present, **({"text": value} if isinstance(value, str) else {}))
    events.on_text({"type": "text", "text": value, "count": value})
    assert unconnected["visit"].history.present == expected


@pytest.mark.parametrize("word", ["**bold**", "$x^2$", ":smile:", "https://example.org", "<b>a</b>", "a_b_c"])
def test_a_visitors_words_are_not_read_as_markdown(word: str):
    shown = literal(word)
    assert shown.replace("\\", "").replace("\u2060", "") == word
    assert not re.search(r"(?<!\\)[*_$<>`]", shown)
    assert not re.search("https://|:smile:", shown.replace("\\", ""))


@pytest.mark.parametrize("value", [*FORGED, "../..", "hf:a/b", "~nobody-of-this-name", "/proc/self/mem"],
                         ids=named)
@pytest.mark.parametrize("hosted", ["", "1"])
def test_what_is_to_be_opened_is_refused_in_words(value: Any, hosted: str, unconnected, monkeypatch):
    """A string that is not a model id causes no network request. A missing folder is reported by the background job."""
    from models.labs.foreign.opening import hub

    monkeypatch.setenv("ATTENTION_LAB_HOSTED", hosted)
    monkeypatch.setattr(hub, "_fetched", lambda *_: pytest.fail("the Hub was asked"))
    monkeypatch.setattr("huggingface_hub.model_info", _unreachable)
    choosing.on_models({"type": "find", "text": value})
    if not isinstance(value, str):
        assert not unconnected["visit"].request
        return
    yours._handle()
    repo, message, can_load = unconnected[session.LOOKED]
    assert isinstance(repo, str) and not can_load
    job = visit.current().job
    if job is None:
        assert bool(message) and not unconnected[session.JOB_PROBLEM]
        return
    assert not hosted and job._finished.wait(20)
    assert job.result is None and job.problem.endswith(".")
    assert "Traceback" not in job.problem and "failed" not in job.problem


def test_the_model_of_a_link_is_offered_before_the_one_that_was_typed_last():
    app = AppTest.from_file(ROOT / "app" / "main.py", default_timeout=60)
    app.query_params |= {"page": "yours", "model": "hf:somebody/else"}
    app.session_state[yours._TYPED] = "typed/before"
    assert sent(app.run(), "models")[0]["offered"] == "somebody/else"


def test_nothing_typed_is_answered_in_words(unconnected):
    for event in ({"type": "load"}, {"type": "find", "text": "  "}):
        choosing.on_models(event)
        yours._handle()
    assert unconnected[session.JOB_PROBLEM] == "Type a name" and visit.current().job is None


def test_what_the_hub_refuses_is_not_offered_from_the_cache(unconnected, monkeypatch):
    """A model in the local cache is offered only if the Hub cannot be reached, and not if the Hub refuses it."""
    from models.labs.foreign import ForeignError
    from models.labs.foreign.opening import hub

    def size_message(error: Exception) -> tuple[str, bool]:
        monkeypatch.setattr(hub, "estimate", lambda name: (_ for _ in ()).throw(error))
        return yours._size("hf:a/b")

    monkeypatch.setattr(hub, "here", lambda name: "somewhere")
    assert size_message(hub.UnreachableError("a/b")) == (
        "The Hub cannot be reached; load the local copy.", True)
    assert size_message(ForeignError("it is too large for this host")) == ("it is too large for this host.", False)
    monkeypatch.setattr(hub, "here", lambda name: None)
    assert size_message(hub.UnreachableError("a/b")) == (
        "the Hub cannot be reached, and a/b is not on this machine. Check the network, or open a folder.",
        False)


def _unreachable(*args: Any, **kwargs: Any) -> None:
    raise OSError("no network")
