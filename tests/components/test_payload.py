"""Payloads are packed and unpacked without a change; events arrive once and in order; the library has all modules."""

import json
from collections.abc import Callable

import numpy
import pytest
import streamlit
from hypothesis import given
from hypothesis import strategies as st

from components import channel, mounting
from components.channel import MAX_EVENTS
from components.library import FILE, LINK, bibtex, source
from components.mounting import answer, dispatch
from components.payload import DTYPES, lower_triangle, pack, unpack
from models.thumbnails import MAX_SIDE, thumbnails

JSON = st.recursive(st.none() | st.booleans() | st.integers(-2**31, 2**31) | st.text(max_size=20),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3))


@st.composite
def arrays(draw):
    shape = tuple(draw(st.lists(st.integers(0, 5), min_size=1, max_size=3)))
    values = draw(st.lists(st.integers(0, 255), min_size=int(numpy.prod(shape)), max_size=int(numpy.prod(shape))))
    return numpy.array(values, dtype=draw(st.sampled_from(DTYPES))).reshape(shape)


@given(st.dictionaries(st.text(max_size=8).filter(lambda key: key != "arrays"), JSON, max_size=4),
       st.dictionaries(st.text(max_size=8), arrays(), max_size=4))
def test_what_is_packed_arrives(header, sent):
    received, got = unpack(pack(header, sent))
    assert received == json.loads(json.dumps(header).encode("utf-8", "replace").decode())
    assert got.keys() == sent.keys()
    for name, array in sent.items():
        assert got[name].dtype == array.dtype
        numpy.testing.assert_array_equal(got[name], array)


def test_what_a_browser_cannot_read_is_refused_or_replaced():
    with pytest.raises(ValueError, match="[Nn]a[Nn]|compliant"):
        pack({"loss": float("nan")})
    with pytest.raises(ValueError, match="int64"):
        pack({}, {"a": numpy.arange(3)})
    assert unpack(pack({"text": "a\ud800b"}))[0]["text"] in ("a?b", "a\ud800b")


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 100, 128])
def test_thumbnails_show_the_largest_weight_of_each_block(n):
    maps = numpy.random.default_rng(n).random((2, 3, n, n), dtype=numpy.float32)
    small = thumbnails(maps)
    block = -(-n // MAX_SIDE)
    for i in range(small.shape[-2]):
        for j in range(small.shape[-1]):
            largest = maps[..., i * block:(i + 1) * block, j * block:(j + 1) * block].max((-1, -2))
            numpy.testing.assert_array_equal(small[..., i, j], (255 * numpy.sqrt(largest) + 0.5).astype(numpy.uint8))


def test_lower_triangle_row_after_row():
    maps = numpy.arange(9, dtype=numpy.float32).reshape(1, 3, 3)
    numpy.testing.assert_array_equal(lower_triangle(maps), [[0, 3, 4, 6, 7, 8]])


def test_styles_are_sent_only_with_the_library(monkeypatch: pytest.MonkeyPatch):
    """As part of a component, Streamlit would send them again with every run."""
    parts: dict[str, str] = {}
    monkeypatch.setattr(streamlit.components.v2, "component", lambda name, **its: parts.update(its))
    mounting._registered.__wrapped__("models")
    assert "css" not in parts and len("".join(parts.values())) < 600
    sheets = mounting.styles()
    assert sheets["models"].count(".goes-on") and all("/*" not in sheet for sheet in sheets.values())
    assert f"styles: {json.dumps(sheets)}" in source()


def test_the_library_holds_every_module_once_and_no_html():
    text = source()
    for path in mounting.FOLDER.rglob("*.js"):
        assert text.count(f"\n// {path.relative_to(mounting.FOLDER).as_posix()}\nconst ") == 1
    assert "innerHTML" not in text


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


def test_each_event_is_handed_on_once_in_order_and_none_of_a_removed_component(session):
    seen = []
    receive = listen("a", lambda event: seen.append(event["sequence"]))
    for numbers in [(3, 5), (3, 5, 6), (5, 6), (6, 6, 7)]:
        session["a"] = message(*numbers)
        receive()
    assert seen == [3, 5, 6, 7]
    assert received("a") == 7
    listen("gone", seen.append)()
    assert seen == [3, 5, 6, 7]


@pytest.mark.parametrize("value", [None, "x", 3, [], {}, {"event": None}, {"event": "x"}, {"event": {"sequence": 1}},
                                   message(None, "1", 1.5, True, -1, 2 ** 60, float("nan")), {"event": [None, 7, "y"]}])
def test_what_is_no_event_is_dropped(session, value):
    seen = []
    receive = listen("a", seen.append)
    session["a"] = value
    receive()
    assert seen == []
    assert received("a") == 0


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
    channel.current().begin()
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
    channel.current().begin()
    assert answer("a") == {"key": "a", "sequence": 5, "answered": 9, "visit": answer("b")["visit"], "serial": 1,
                           "direct": False, "language": "en"}
    assert answer("b")["sequence"] == 9


def test_another_session_has_another_name(session):
    first = answer("a")["visit"]
    session.clear()
    assert answer("a")["visit"] != first


def test_the_citation_has_the_files_title_author_version_and_year():
    entry, text = bibtex(), FILE.read_text("utf-8")
    for field, value in (("title", "Attention Lab: interventions"), ("author", "{Attention Lab contributors}"),
                         ("year", "2026"), ("version", "1."), ("url", LINK)):
        assert f"  {field} = {{{value}" in entry
    assert "Attention Lab: interventions" in text and "\nversion: 1." in text
    assert bibtex("") == ""
