"""Short versions of `python -m tests.protocol` and `tests.adversarial`, and checks of the generated messages."""

import contextlib
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from streamlit.proto.BackMsg_pb2 import BackMsg

from app.lab.tools import cont
from app.lab.tools.cont import Continuation
from app.server import incoming
from tests import adversarial, protocol
from tests.protocol import Page, Step

PAGE = Page("id", ["widget-a", "widget-b"], ["heads", "toolbar"], ["fragment"])


def test_a_stranger_who_sends_anything_is_not_noticed():
    with ThreadPoolExecutor(1) as pool:  # browser tests leave an event loop running in this thread
        found = pool.submit(protocol.run, 250, seed=5).result()
    assert found["errors"] == 0 and found["links of the neighbour"] > 2, found
    assert not found["exceptions"], found
    assert found["sent"] >= 250 and set(found["statuses"]) <= {200, 400, 410}, found


@settings(max_examples=200, deadline=None, suppress_health_check=[*HealthCheck])
@given(protocol.steps)
def test_every_step_can_be_sent(step: Step):
    """Events for the route are JSON with keys of components on the page."""
    if step[0] == "events":
        sent = json.loads(PAGE.body(step))
        assert all(event["key"] in PAGE.keys for event in sent["events"] if isinstance(event, dict))
    elif step[0] == "post":
        assert isinstance(PAGE.body(step), bytes)
    else:
        data = PAGE.message(step)
        if step[0] == "rerun" and len(data) < 700_000:
            assert incoming.is_allowed(data)
            assert BackMsg.FromString(data).rerun_script.is_history_navigation


def test_a_continuation_is_not_stepped_twice_at_once(monkeypatch):
    def steps() -> Iterator[str]:
        for number in range(3):
            time.sleep(0.02)
            yield str(number)

    monkeypatch.setattr(cont.serving, "computing", contextlib.nullcontext)
    now = Continuation((), 3, steps=[steps()])
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(cont.advance, [now, now]))  # raises the error of a thread
    assert now.trained == "012" and not now.running


CASES = {"links": 150, "plans": 150, "texts": 20, "events": 100, "files": 15, "pages": 4}


@pytest.mark.parametrize("name", adversarial.ATTACKS)
def test_nothing_that_strangers_send_breaks_anything(name: str):
    assert adversarial.batch(name, seed=len(name), count=CASES[name]) >= CASES[name] // 2


def test_the_attacks_detect_a_fault(monkeypatch):
    """The attacks detect a fault: a state that no link can open is reported."""
    monkeypatch.setattr(adversarial, "query_of", lambda state: "n=abc")
    with pytest.raises(AssertionError):
        adversarial.batch("links", seed=1, count=20)
