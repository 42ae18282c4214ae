"""Tests of the events route: its state and payloads equal those of a Streamlit run, and strangers get no response."""

import gc
import struct
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import models
from app import compute, route
from app.content import picture
from app.panels import text
from app.server import limits, serving
from app.server.limits import LimitError
from app.state import lessons, visit
from app.state.lab_state import LabState
from app.state.lessons import Place
from app.state.visit import Visit
from components.mounting import Part
from components.payload import unpack
from tests.app.test_pages import content, opened
from tests.own_loop import run

Payloads = dict[str, tuple[dict[str, Any], dict[str, numpy.ndarray]]]


def pieces(answer: bytes) -> list[bytes]:
    """Returns the byte blocks of a response."""
    found = []
    while answer:
        (length,) = struct.unpack_from("<I", answer)
        found.append(answer[4:4 + length])
        answer = answer[4 + length:]
    return found


def blocks(answer: bytes) -> list[tuple[dict[str, Any], dict[str, numpy.ndarray]]]:
    """Returns the payloads of a response. The first payload describes the response itself."""
    return [unpack(piece) for piece in pieces(answer)]


def post(now: Visit, events: list[dict[str, Any]], seen: int = 0) -> tuple[dict[str, Any], Payloads]:
    """Sends events to the route. Returns the description of the response, and the payloads by component."""
    first, late = route.answer(now, seen, [(event["key"], event) for event in events])
    found = blocks(first + b"".join(make() for make in late))
    if not found:
        return {}, {}
    shown = _shown.setdefault(now, {})
    parts = {header["key"]: merged(shown.get(header["key"]), header, arrays) for header, arrays in found[1:]}
    shown.update(parts)
    return found[0][0], parts


_shown: weakref.WeakKeyDictionary[Visit, Payloads] = weakref.WeakKeyDictionary()  # what a browser would show


def merged(old: Any, header: dict[str, Any], arrays: dict[str, numpy.ndarray]) -> Any:
    """Returns a payload with the changes of a newer one, as components/core/payload.js does."""
    if "changes" not in header:
        return header, arrays
    gone = {tuple(name) for name in header.pop("changes")}
    fields, matrices = old or ({}, {})
    return ({name: value for name, value in {**fields, **header}.items() if ("field", name) not in gone},
            {name: value for name, value in {**matrices, **arrays}.items() if ("array", name) not in gone})


def mounted(app: Any) -> Payloads:
    """Returns the payloads that Streamlit mounted, by component."""
    found = [unpack(element.proto.bytes) for element in app.get("bidi_component") if element.proto.bytes]
    return {header["key"]: (header, arrays) for header, arrays in found if "key" in header}


def visitor() -> Visit:
    return opened(model="stories-softmax", text="The cat sat.").session_state["visit"]


def click(number: int, **event: Any) -> dict[str, Any]:
    return {"key": "lab", "sequence": number, "type": "select", "kind": "self", "layer": 0, "head": 0,
            "scope": "head"} | event


def test_only_what_changed_is_sent_again_unless_an_answer_was_lost():
    now = visitor()
    about, parts = post(now, [click(1, layer=1)])
    assert set(parts) == {"bar", "lab"}
    second, late = route.answer(now, about["serial"], [("lab", click(2, layer=2))])
    found = {header["key"]: header for header, _arrays in blocks(second)[1:]}
    # selecting another head changes no prediction, so the answer is not sent
    assert not late and found["lab"]["selection"]["layer"] == 2 and "answer" not in found["lab"]
    third, parts = post(now, [], seen=about["serial"])  # the second response did not arrive
    assert parts["lab"][0]["selection"]["layer"] == 2 and third["serial"] > blocks(second)[0][0]["serial"]


@given(st.lists(st.tuples(st.dictionaries(st.sampled_from("abc"), st.integers(0, 2), min_size=1),
                          st.dictionaries(st.sampled_from("xy"), st.integers(0, 2)), st.booleans()), max_size=12))
def test_changes_build_the_whole_payload_whichever_responses_are_lost(states: list[Any]):
    now, seen, shown = visit.Visit(), 0, None
    for header, numbers, arrives in states:
        part = Part("lab", "lab", header, {name: numpy.arange(size, dtype=numpy.uint8)
                                           for name, size in numbers.items()})
        picture = now.channel.picture()
        found = [unpack(payload) for payload in route._changed(now, [part], picture, seen)]
        if arrives:
            shown, seen = (merged(shown, *found[0]) if found else shown), picture.serial
            assert shown is not None and content(shown) == content(unpack(part.payload()))


def test_selecting_a_head_of_the_lab_sends_neither_tiles_nor_words():
    now = opened(page="lab", model="stories-selective", text="The cat sat on the mat.").session_state["visit"]
    events = [{"key": "lab", "sequence": 1, "type": "select", "kind": "self", "layer": 1, "head": 2, "scope": "head"},
              {"key": "lab", "sequence": 2, "type": "select", "kind": "self", "layer": 2, "head": 3, "scope": "head"}]
    first, seen = route.answer(now, 0, [("lab", events[0])])[0], now.channel.serial
    second = route.answer(now, seen, [("lab", events[1])])[0]
    (header, arrays), = [block for block in blocks(second)[1:] if block[0]["key"] == "lab"]
    assert header["selection"]["head"] == 3 and "tokens" not in header and "models" not in header
    assert not any(name.startswith("tiles") for name in arrays) and len(second) < len(first) / 4


def test_the_script_does_not_acknowledge_an_event_that_arrives_while_it_draws(monkeypatch: pytest.MonkeyPatch):
    app = opened(lesson="constant.1")
    now, content = app.session_state["visit"], picture.content
    question = lessons.step_at(Place.parse("constant.1")).question
    answered = {"key": "lab", "sequence": 9, "type": "answer", "choice": question.right}

    def interrupted(*args: Any) -> Any:
        now.channel.receive([("lab", answered)])
        return content(*args)

    with monkeypatch.context() as patch:
        patch.setattr(picture, "content", interrupted)
        shown = mounted(app.run())
    assert shown["lab"][0]["lesson"]["question"]["chosen"] is None and now.history.present.answer
    assert all(header["sequence"] == header["answered"] == 0 for header, _ in shown.values())
    about, parts = post(now, [answered], seen=now.channel.serial)
    assert not about["layout"] and parts["lab"][0]["lesson"]["question"]["chosen"] == question.right
    assert about["serial"] > shown["lab"][0]["serial"] and about["received"]["lab"] == 9


def test_an_overtaken_response_does_not_count_as_displayed():
    now = visitor()
    post(now, [click(1, layer=1)])
    older = now.channel.picture()
    about, _ = post(now, [click(2, layer=2)], seen=now.channel.serial)
    first = LabState("stories-softmax", "The cat sat.")  # layer 0, as in the older response
    with visit.use(now):
        found = route.ANSWERS["lab"](first, [])
        assert not route._changed(now, [part for part in found.parts if part.key == "lab"], older, about["serial"])
    assert post(now, [click(3, layer=0)], seen=about["serial"])[1]["lab"][0]["selection"]["layer"] == 0


def test_an_event_is_handled_once():
    now = visitor()
    prune = click(3, type="heads", gate=0.0)
    post(now, [prune])
    post(now, [{"key": "bar", "sequence": 4, "type": "undo"}, prune])
    assert not now.history.present.plan and now.channel.newest == 4


@pytest.mark.parametrize("event", [{"type": "page", "page": "yours"}, {"type": "language", "language": "zh"}])
def test_streamlit_draws_what_it_alone_can_draw(event: dict[str, Any]):
    app = opened(model="stories-softmax", text="The cat sat.")
    about, parts = post(app.session_state["visit"], [event | {"key": "bar", "sequence": 5}])
    assert about["layout"] and not parts
    app.run()
    page = app.session_state["visit"].history.present.page
    assert post(app.session_state["visit"], [])[0]["layout"] is (page == "yours")


def test_a_translation_follows_the_picture():
    now = opened(model="translation-softmax", text="The cat is sleeping.").session_state["visit"]
    event = click(1, type="heads", kind="cross", gate=0.0, scope="all")
    first, late = route.answer(now, 0, [("lab", event)])
    (header,) = (header for header, _arrays in blocks(first)[1:] if header["key"] == "lab")
    assert header["written"]["after"] == ""  # not written yet
    (written, _arrays), = blocks(late[0]())
    assert written["key"] == "lab" and written["written"]["after"]


def test_a_first_page_does_not_wait_for_its_translation_unless_the_route_is_blocked(monkeypatch: pytest.MonkeyPatch):
    calls = []
    monkeypatch.setattr(compute, "rewritten", lambda *args: calls.append(args) or "Die Katze.")
    app = opened(model="translation-softmax", text="The cat is sleeping.", plan="cross-0.0g0")
    assert not calls  # the browser asks for it
    now = app.session_state["visit"]
    _first, late = route.answer(now, 0, [("lab", {"type": "written", "sequence": 1})])
    (header, _arrays), = blocks(late[0]())
    assert header["written"]["after"] == "Die Katze." and "follows" not in header["written"]
    calls.clear()
    app.run()  # as after the same event through Streamlit
    assert len(calls) == 1


def test_a_late_part_that_the_limits_forbid_makes_streamlit_show_the_reason(monkeypatch: pytest.MonkeyPatch):
    now = opened(model="translation-softmax", text="The dog is sleeping.").session_state["visit"]
    _first, late = route.answer(now, 0, [("lab", click(1, type="heads", kind="cross", gate=0.0, scope="all"))])

    def spend(*args: Any) -> None:
        raise LimitError("too much")

    monkeypatch.setattr(limits, "spend", spend)
    assert any(header.get("layout") for make in late for header, _ in blocks(make()))


def test_an_answer_to_older_events_computes_nothing():
    now = visitor()
    inside = threading.Event()
    now.channel.listen("slow", lambda event: inside.set())
    answers: list[route.Answer] = []
    with route.serving.drawing():  # the older request waits for its turn to draw
        older = threading.Thread(target=lambda: answers.append(
            route.answer(now, 0, [("slow", {"sequence": 1})])))
        older.start()
        assert inside.wait(10)
        now.channel.receive([("lab", click(2, layer=1))])
    older.join(10)
    assert answers == [(b"", [])]


def test_a_newer_letter_cancels_the_forward_pass_of_an_older_one_that_has_not_begun(monkeypatch: pytest.MonkeyPatch):
    now = visitor()
    lab, passes, read = models.load("stories-softmax"), [], text.read
    monkeypatch.setattr(type(lab), "run", _counted(type(lab).run, passes))

    def typed(number: int, text: str) -> dict[str, Any]:
        return {"key": "lab", "sequence": number, "type": "text", "text": text}

    def overtaken(*args: Any) -> Any:
        monkeypatch.setattr(text, "read", read)
        now.channel.receive([("lab", typed(2, "Two dogs ran"))])
        return read(*args)

    monkeypatch.setattr(text, "read", overtaken)
    assert post(now, [typed(1, "One dog ran")]) == ({}, {}) and not passes
    about, parts = post(now, [])
    assert about["answered"] == 2 and parts["lab"][0]["text"] == "Two dogs ran" and len(passes) == 1


def _counted(run: Callable[..., Any], calls: list[Any]) -> Callable[..., Any]:
    def counted(lab: Any, prompt: Any, plans: Any) -> Any:
        calls.append(prompt)
        return run(lab, prompt, plans)
    return counted


def test_a_request_without_news_draws_nothing(monkeypatch: pytest.MonkeyPatch):
    now = visitor()
    first = click(1, layer=1)
    about, _ = post(now, [first])

    def draw(*args: Any) -> None:
        raise AssertionError("the page is drawn again")

    with monkeypatch.context() as patch:
        patch.setattr(route, "_present", draw)
        assert post(now, [first], seen=about["serial"]) == ({}, {})
        with pytest.raises(AssertionError):
            post(now, [click(2, layer=2)], seen=about["serial"])
    # the event was handled but not answered
    assert post(now, [], seen=about["serial"])[1]["lab"][0]["selection"]["layer"] == 2


def test_visitors_of_fifty_threads_see_their_own_state():
    visits = [visitor() for _ in range(2)]
    visits += [Visit() for _ in range(48)]
    for now in visits[2:]:
        now.history.begin(LabState("stories-softmax", "The cat sat."), [])
        now.channel.handlers |= visits[0].channel.handlers
        now.layout = visits[0].layout

    def act(number: int) -> None:
        for turn in range(4):
            about, parts = post(visits[number], [click(turn + 1, layer=number % 4, head=(number + turn) % 8)])
            shown = parts["lab"][0]["selection"]
            assert (shown["layer"], shown["head"]) == (number % 4, (number + turn) % 8)
            assert about["visit"] == visits[number].channel.id

    with ThreadPoolExecutor(50) as pool:
        list(pool.map(act, range(50), timeout=60))  # raises the error of a thread
    assert len({now.channel.id for now in visits}) == 50


heads = st.fixed_dictionaries({"key": st.just("lab"), "type": st.sampled_from(["select", "heads"]),
                               "kind": st.just("self"), "layer": st.integers(0, 4), "head": st.integers(0, 8),
                               "scope": st.sampled_from(["head", "row", "column", "all"])},
                              optional={"gate": st.sampled_from([0.0, 0.5, 1.0, 2.0]), "constant": st.booleans(),
                                        "drag": st.booleans()})
others = st.sampled_from([
    {"key": "bar", "type": "undo"}, {"key": "bar", "type": "redo"}, {"key": "bar", "type": "reset"},
    {"key": "lab", "type": "scale", "policy": "logn", "base": 8},
    {"key": "lab", "type": "scale", "policy": "trained"}, {"key": "lab", "type": "marks", "guesses": True},
    {"key": "lab", "type": "tool", "name": "layer.entropy"}, {"key": "lab", "type": "look", "position": 1},
    {"key": "lab", "type": "set", "name": "looks.view", "value": "constant"},
    {"key": "lab", "type": "pin", "name": "all.find", "on": True},
    {"key": "lab", "type": "prediction", "index": 2}, {"key": "lab", "type": "model", "name": "nobody"},
    {"key": "lab", "type": "text", "text": "The dog ran."}, {"key": "lab", "type": "text", "text": "The cat sat."},
    {"key": "lab", "type": "act", "tool": "all.papa", "count": 3}])
FIRST = {model: LabState(model, "The cat sat.") for model in ("stories-softmax", "stories-selective", "masked-softmax")}


@pytest.fixture(scope="module")
def pairs() -> dict[str, Any]:
    """Returns two sessions of each model. The route handles the events of the first, Streamlit of the second."""
    return {model: [opened(model=model, text=state.text) for _ in range(2)] for model, state in FIRST.items()}


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([*FIRST]), st.lists(heads | others, max_size=6))
def test_route_and_fallback_give_the_same_result(pairs: dict[str, Any], model: str, events: list[dict[str, Any]]):
    pair = pairs[model]
    direct, fallback = (app.session_state["visit"] for app in pair)
    for now in (direct, fallback):
        now.history.begin(FIRST[model], [])
        now.channel.sent.clear()
    number = max(direct.channel.newest, fallback.channel.newest)
    numbered = [event | {"sequence": number + place} for place, event in enumerate(events, 1)]
    shown: Payloads = {}
    for event in numbered:  # each event is a separate request
        shown |= post(direct, [event], seen=direct.channel.serial)[1]
    about, last = post(direct, [])
    with visit.use(fallback):  # Streamlit passes all waiting events to the same handlers and mounts the components
        fallback.channel.receive([(event["key"], event) for event in numbered])
    pair[1].run()
    assert direct.history.present == fallback.history.present
    assert [*direct.history.past] == [*fallback.history.past]
    assert not about["layout"]
    found = mounted(pair[1])
    for key, payload in (shown | last).items():
        assert content(payload) == content(found[key]), key


@pytest.mark.parametrize("error", [serving.LongWorkError, serving.OvertakenError])
def test_work_that_ends_early_keeps_nothing_in_memory(error: type[Exception]):
    held: list[weakref.ref[numpy.ndarray]] = []

    def work() -> None:
        weights = numpy.zeros(9)
        held.append(weakref.ref(weights))
        raise error

    async def tried() -> None:
        with pytest.raises(error):
            await route._in_thread(work)

    gc.disable()
    try:
        run(tried())
        assert held[0]() is None
    finally:
        gc.enable()
