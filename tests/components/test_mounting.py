"""Events from the browser arrive exactly once and in order, and no event raises an error."""

from collections.abc import Callable

import pytest
import streamlit

from components import channel
from components.channel import MAX_EVENTS
from components.mounting import answer, answering, dispatch


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> dict:
    state = {}
    monkeypatch.setattr(streamlit, "session_state", state)
    return state


def listen(key: str, on_event: channel.OnEvent | None) -> Callable[[], None]:
    """Returns Streamlit's callback for a component whose events are passed to `on_event`."""
    channel.current().listen(key, on_event)
    return dispatch(key)


def received(key: str) -> int:
    return channel.current().received.get(key, 0)


def message(*numbers: object, key: str = "a") -> dict:
    return {"event": [{"key": key, "type": "x", "sequence": number} for number in numbers]}


def test_each_event_is_handed_on_once_and_in_order(session):
    seen = []
    receive = listen("a", lambda event: seen.append(event["sequence"]))
    for numbers in [(3, 5), (3, 5, 6), (5, 6), (6, 6, 7)]:
        session["a"] = message(*numbers)
        receive()
    assert seen == [3, 5, 6, 7]
    assert received("a") == 7


@pytest.mark.parametrize("value", [None, "x", 3, [], {}, {"event": None}, {"event": "x"}, {"event": {"sequence": 1}},
                                   message(None, "1", 1.5, True, -1, 2 ** 60, float("nan")), {"event": [None, 7, "y"]}])
def test_what_is_no_event_is_dropped(session, value):
    seen = []
    receive = listen("a", seen.append)
    session["a"] = value
    receive()
    assert seen == []
    assert received("a") == 0


def test_an_event_of_a_removed_component_is_dropped(session):
    seen = []
    listen("gone", seen.append)()
    assert seen == []


def test_more_events_than_one_message_may_bring_wait_and_are_not_lost(session):
    seen = []
    receive = listen("a", lambda event: seen.append(event["sequence"]))
    numbers = list(range(1, 2 * MAX_EVENTS + 10))
    while received("a") < numbers[-1]:
        before = len(seen)
        session["a"] = message(*[number for number in numbers if number > received("a")])
        receive()
        assert 0 < len(seen) - before <= MAX_EVENTS
    assert seen == numbers


def test_a_message_has_the_events_of_all_components_in_order(session):
    """A component that is no longer on the page receives no events."""
    seen = []
    hear = {key: listen(key, lambda event, key=key: seen.append((event["sequence"], key))) for key in "abc"}
    session["b"] = {"event": [*message(4)["event"], *message(5, key="b")["event"], *message(7)["event"]]}
    hear["b"]()
    session["a"] = message(4)  # an older message, whose callback Streamlit calls later
    hear["a"]()
    assert seen == [(4, "a"), (5, "b"), (7, "a")] and received("a") == 7 and received("b") == 5
    answering()
    channel.current().listen("b", lambda event: seen.append((event["sequence"], "b")))
    channel.current().end()
    session["b"] = {"event": [*message(8)["event"], *message(9, key="b")["event"]]}
    hear["b"]()
    assert seen[3:] == [(9, "b")]


def test_a_payload_has_the_number_of_the_newest_handled_event(session):
    assert answer("a") | {"visit": 0} == {"key": "a", "sequence": 0, "answered": 0, "visit": 0, "serial": 0,
                                         "direct": False, "language": "en"}
    session["a"], session["b"] = message(5), message(9, key="b")
    listen("a", None)()
    listen("b", None)()
    answering()
    assert answer("a") == {"key": "a", "sequence": 5, "answered": 9, "visit": answer("b")["visit"], "serial": 1,
                           "direct": False, "language": "en"}
    assert answer("b")["sequence"] == 9


def test_another_session_has_another_name(session):
    first = answer("a")["visit"]
    session.clear()
    assert answer("a")["visit"] != first
