"""The pages without a browser: payloads for valid and invalid states, and the start page's sentences and buttons."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy
import pytest
from streamlit.testing.v1 import AppTest

import models
from app.state import events, visit
from app.state.history import History
from app.state.lab_state import DEFAULT_MODEL, FIRST_PAGE, LAB, START, TRAINING, default_text
from app.state.link import first_lab, opened_by, query_of, read_query
from components.payload import unpack
from models import HeadPlan, catalogue
from models.tasks import TASKS
from tests.app.visitors import visiting
from tests.browser import ROOT

ENVELOPE = ("sequence", "answered", "visit", "serial", "text", "language", "key", "direct",
            # fields of the header that differ between the two responses: those that describe the response, and
            # "mode", which states whether the address is a new history entry
            "mode")


def opened(**link: str) -> AppTest:
    """Returns the app, opened by a link with these fields; without fields, by a link to the Lab."""
    app = AppTest.from_file(ROOT / "app" / "main.py", default_timeout=60)
    for key, value in (link or {"model": DEFAULT_MODEL}).items():
        app.query_params[key] = value
    return app.run()


def all_sent(app: AppTest, name: str) -> list[tuple[dict[str, Any], dict[str, numpy.ndarray]]]:
    """Returns the headers and arrays that were sent to every component `name`."""
    return [unpack(element.proto.bytes) for element in app.get("bidi_component")
            if element.proto.component_name.endswith(f"attention_lab_{name}")]


def sent(app: AppTest, name: str) -> tuple[dict[str, Any], dict[str, numpy.ndarray]]:
    """Returns the headers and arrays that were sent to the only component `name`."""
    (found,) = all_sent(app, name)
    return found


def content(payload: tuple[dict[str, Any], dict[str, numpy.ndarray]]) -> Any:
    """Returns a payload without the fields that describe the response."""
    header, arrays = payload
    return ({name: value for name, value in header.items() if name not in ENVELOPE},
            {name: (array.dtype.name, array.tolist()) for name, array in arrays.items()})


def type_text(app: AppTest, text: str) -> AppTest:
    """Sends the event of a changed text, then runs the script."""
    with visit.use(app.session_state["visit"]) as now:
        now.channel.receive([("lab", {"type": "text", "text": text, "sequence": now.channel.newest + 1})])
    return app.run()


def address_of(app: AppTest) -> dict[str, str]:
    """Returns the fields of the address that the header writes."""
    return dict(parse_qsl(sent(app, "bar")[0]["query"], keep_blank_values=True))


def test_every_run_sends_the_library():
    """Streamlit drops the messages of a run that a newer run overtakes: the newer one has to send everything."""
    app = opened()
    for _run in range(3):
        assert app.get("bidi_component")[0].proto.component_name.endswith("attention_lab_library_import")
        app = app.run()


def shared_out() -> list[tuple[str, str]]:
    """Returns (model, text) pairs with every model and every example once; test_contract.py has all combinations."""
    pairs = []
    for task in TASKS:
        names = [name for name in models.names() if name.startswith(f"{task}-")]
        if not names:  # the models of this task are not trained yet
            continue
        texts = [text for _, text in TASKS[task].reader.examples]
        pairs += [(names[i % len(names)], texts[i % len(texts)]) for i in range(max(len(names), len(texts)))]
    return pairs


@pytest.mark.parametrize(("name", "text"), shared_out())
def test_every_model_opens_with_its_examples(name, text):
    app = opened(model=name, text=text)
    assert not app.exception
    header = sent(app, "lab")[0]
    assert header["answer"]["rows"] and not header["problems"]
    assert "start" not in (header["notice"] or {})  # the place of an error


def test_a_plan_reaches_the_computation():
    text = "y=7; x=1; x=3; z=5; x=?"
    plan = "self-0.0~3c-1.0~3c-2.0~3c"
    app = opened(model="assignment-selective", text=text, plan=plan, at="0.0", lab="head.looks~~~looks.view!constant")
    lab = models.load("assignment-selective")
    trace = models.run(lab, text, HeadPlan.parse(plan))
    header, arrays = sent(app, "lab")
    after = {row["label"]: row["after"] for row in header["answer"]["rows"]}
    expected = dict(zip(trace.output.labels, trace.output.probabilities, strict=True))
    assert after == pytest.approx({digit: float(expected[digit]) for digit in after}, abs=1e-6)
    assert header["answer"]["kl"] > 0
    n = len(trace.tokens)
    # the attention of these heads is the lower triangle of the constant matrix, row by row
    rows, columns = numpy.tril_indices(n)
    constant = lab.constant["self"][0, 0, :n, :n].numpy()[rows, columns]
    numpy.testing.assert_array_equal(arrays["map.constant"], numpy.floor(255 * numpy.sqrt(constant) + 0.5))


def test_the_last_good_picture_stays_while_the_text_is_wrong():
    app = opened(model="assignment-selective", text="k=4; k=?")
    before = sent(app, "lab")[1]["tiles.self"].tobytes()
    type_text(app, "k=4; k=44")
    header, arrays = sent(app, "lab")
    assert "more than one digit" in header["notice"]["message"]
    assert header["notice"]["excerpt"][1] == "44"
    assert arrays["tiles.self"].tobytes() == before
    assert header["text"] == "k=4; k=44"


def test_typing_undo_and_redo():
    app = opened(model="assignment-selective")
    type_text(app, "k=4; k=?")
    assert address_of(app)["text"] == "k=4; k=?"
    history = app.session_state["visit"].history
    history.undo()
    app.run()
    assert sent(app, "lab")[0]["text"] == models.load("assignment-selective").task.examples[0][1]
    assert sent(app, "bar")[0]["redo"]


def test_a_new_link_is_followed_and_an_old_address_does_not_undo_typing():
    """Each run receives the address from the browser, which can be older than the current text."""
    app = opened(model="assignment-selective", text="a=1; a=?")
    type_text(app, "a=2; a=?")
    assert app.query_params["text"] == "a=1; a=?"
    app.run()
    assert sent(app, "lab")[0]["text"] == "a=2; a=?"
    app.query_params["text"] = "b=2; b=?"
    app.run()
    assert sent(app, "lab")[0]["text"] == "b=2; b=?"


def test_going_back_brings_the_whole_text_back(monkeypatch):
    long = "x=1; y=2; x=?;" * 400
    app = opened(model="assignment-selective", text="k=4; k=?")
    type_text(app, long)
    query = address_of(app)
    assert len(query["text"]) < 2000
    type_text(app, "a=1; a=?")
    monkeypatch.setattr("app.server.serving.went_back_or_forward", lambda: True)
    app.query_params["text"] = query["text"]
    app.run()
    assert sent(app, "lab")[0]["text"] == long


def test_the_link_of_a_long_text_shows_the_same_picture():
    first = opened(model="assignment-selective", text="x=1; y=2; x=?;" * 400)
    second = opened(**address_of(first))
    assert sent(second, "lab")[1]["tiles.self"].tobytes() == sent(first, "lab")[1]["tiles.self"].tobytes()
    assert not sent(second, "lab")[0]["problems"]


def test_without_any_model_the_repair_is_named(checkpoints: Path):
    app = opened(model="stories-softmax", plan="self-99.99c")
    assert not app.exception
    assert "git checkout -- models/checkpoints" in app.error[0].value


def test_an_empty_text_leaves_the_picture_of_the_last_one_and_says_so():
    app = opened(model="stories-softmax", text="Once upon a time")
    type_text(app, "")
    notice = sent(app, "lab")[0]["notice"]
    assert "Type the beginning of a story" in notice["message"] and notice["shown"] == "Once upon a time"


HEAD = HeadPlan().gate("self", 2, 4, 0.0)
LAYER = HeadPlan.parse("self-2.0~7g0")


def answer(plan: HeadPlan) -> tuple[str, float]:
    first = opened_by(None)
    output = models.run(models.load(first.model), first.text, plan).output
    return output.labels[0].strip(), float(output.probabilities[0])


def shown(**link: str) -> dict[str, Any]:
    return sent(opened(page=START, **link), "start")[0]


def test_the_first_sentence_says_what_the_head_does():
    page = shown()
    first = opened_by(None)
    row = models.run(models.load(first.model), first.text).weights["self"][2, 4, -1]
    assert [word["weight"] for word in page["words"]] == pytest.approx(row.tolist(), abs=1e-4)
    most = max(page["words"], key=lambda word: word["weight"])
    assert (most["text"].strip(), page["answer"].strip()) == ("ball", answer(HeadPlan())[0]) == ("ball", "ball")
    assert f"head 5 of layer 3 gives {row.max():.0%} of its attention to *ball*" in page["says"]
    assert page["chance"] == f"{answer(HeadPlan())[1]:.0%} likely" == "66% likely" and not page["pruned"]
    assert [button["event"] for button in page["buttons"]] == [{"type": "plan", "plan": str(HEAD)}]


def test_a_link_to_a_lesson_that_does_not_exist_says_so():
    assert sent(opened(lesson="pruning.2"), "start")[0]["about"] == \
        "The link's lesson step “pruning.2” does not exist."


def test_without_the_head_the_answer_stays_but_less_surely():
    page = shown(plan=str(HEAD))
    label, chance = answer(HEAD)
    assert label == page["answer"].strip() == "ball" and page["chance"] == f"{chance:.0%} likely, was 66%"
    assert page["pruned"] and "66% → *50%*. 31 other heads still" in page["says"]
    assert [button["event"] for button in page["buttons"]] == [
        {"type": "plan", "plan": ""}, {"type": "plan", "plan": str(LAYER)}]


def test_without_the_layer_another_word_wins_in_the_lab(monkeypatch: pytest.MonkeyPatch):
    page, past = shown(plan=str(LAYER)), History(opened_by(None))
    assert answer(LAYER)[0] == page["answer"].strip() == "friends" and "*friends*, not *ball*" in page["says"]
    event = page["ways"][-1]["event"]
    visiting(monkeypatch, past)
    events.on_start(event)
    state = past.present
    assert (state.page, state.plan, state.text) == (LAB, LAYER, opened_by(None).text)
    assert (state.selection.layer, state.selection.scope) == (2, "row")
    past.undo()
    assert past.present == opened_by(None)


@pytest.mark.parametrize("link", [{"plan": "self-3.7g0"}, {"plan": "self-1.1g0_scale-logn64"},
                                  {"model": "assignment-softmax", "text": "a=1; a=?"}])
def test_any_other_link_opens_the_same_experiment(link: dict[str, str]):
    assert content((shown(**link), {})) == content((shown(), {}))


@pytest.mark.parametrize("event", [{"type": "plan", "plan": 3}, {"type": "lab"}, {"type": "plan"}, {"type": "x"}, {}])
def test_a_strange_event_changes_nothing(event: dict[str, Any], monkeypatch: pytest.MonkeyPatch):
    past = History(opened_by(None))
    visiting(monkeypatch, past)
    events.on_start(event)
    assert past.present == opened_by(None)


def test_each_way_on_opens_its_page(monkeypatch: pytest.MonkeyPatch):
    ways = [way["event"] for way in shown()["ways"]]
    opened_pages = []
    for event in ways:
        past = History(opened_by(None))
        visiting(monkeypatch, past)
        events.on_start(event)
        opened_pages.append((past.present.page, str(past.present.lesson)))
    assert opened_pages == [(LAB, "constant.1"), (TRAINING, "None"), (LAB, "None")]


def test_the_header_opens_the_lab_with_the_same_text_and_plan(monkeypatch: pytest.MonkeyPatch):
    there = read_query(dict(parse_qsl(sent(opened(page=START, plan=str(HEAD)), "bar")[0]["links"])))[0]
    past = History(opened_by(None))
    visiting(monkeypatch, past)
    events.on_start({"type": "plan", "plan": str(HEAD)})
    events.on_toolbar({"type": "page", "page": LAB})
    assert past.present == there and (there.page, there.plan) == (LAB, HEAD)


def test_another_model_leaves_the_start_page(monkeypatch: pytest.MonkeyPatch):
    past = History(opened_by(None))
    visiting(monkeypatch, past)
    events.on_chooser("stories-softmax")
    assert (past.present.model, past.present.page) == ("stories-softmax", FIRST_PAGE)


def test_a_link_without_a_text_opens_what_it_always_did():
    state = first_lab()
    assert state.page == FIRST_PAGE and read_query(dict(parse_qsl(query_of(state)))) == (state, [])
    assert opened_by(None).with_model("stories-softmax").text == state.text
    assert read_query({"model": "stories-softmax"})[0].text.endswith("afraid of the dark. One day")
    assert all(default_text(name) in dict(catalogue.find(name).task.examples).values() for name in models.names())
